// expect: still running after
double f(double x) { volatile int on = 1; while (on) { } return x; }
