// expect: SIGSEGV
double f(double x) { double *volatile p = 0; return *p + x; }
