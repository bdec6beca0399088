double f(double x) { return g(x); }
double g(double x) { return x; }
