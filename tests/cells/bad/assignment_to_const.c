double f(const double x) { x += 1; return x; }
