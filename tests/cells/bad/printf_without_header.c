double f(double x) { printf("%d", x); return x; }
