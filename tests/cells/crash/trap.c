// expect: SIGILL
double f(double x) { if (x == x) __builtin_trap(); return x; }
