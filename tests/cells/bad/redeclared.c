double f(double x) { double x = 2; return x; }
