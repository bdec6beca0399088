// options: lib="surely_not_installed"
double f(double x) { return x; }
