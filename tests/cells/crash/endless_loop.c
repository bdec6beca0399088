// expect: time limit
double f(double x) { volatile int on = 1; while (on) { } return x; }
