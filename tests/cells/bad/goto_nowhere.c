double f(double x) { goto out; return x; }
