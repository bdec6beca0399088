double f(double x) { x = "a"; return x; }
