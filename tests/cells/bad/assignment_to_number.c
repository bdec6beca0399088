double f(double x) { 3 = x; return x; }
