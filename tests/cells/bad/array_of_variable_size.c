double f(double x) { int n = 3; double a[n] = {0}; return a[0]; }
