double f(double x) { return x; }
double f(double y) { return y + 1; }
