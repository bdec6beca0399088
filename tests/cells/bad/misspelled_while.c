double f(double x) { whlie (x > 1) x /= 2; return x; }
