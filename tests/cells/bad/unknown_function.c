double f(double x) { return sin(x) + cos(x); }
