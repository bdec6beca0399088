double f(double x) { return x > 0 and x < 1 ? x : None; }
