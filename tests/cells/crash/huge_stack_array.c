// expect: overflows the stack
double f(double x) { volatile double a[1 << 24]; for (int i = 0; i < 1 << 24; i += 512) a[i] = x; return a[0]; }
