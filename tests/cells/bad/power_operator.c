double f(double x) { return x ** 2 + x ^ 3; }
