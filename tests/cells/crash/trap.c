// expect: reaches an instruction that marks undefined behaviour
double f(double x) { if (x == x) __builtin_trap(); return x; }
