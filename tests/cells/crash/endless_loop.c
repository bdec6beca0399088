// expect: note: f(0.5) was still running after
double f(double x) { volatile int on = 1; while (on) { } return x; }
