double f(double x) { bool b = x > 0; return b; }
