f(x) { return x; }
