// expect: SIGSEGV
double f(double x) { double (*volatile g)(double) = (double (*)(double))16; return g(x); }
