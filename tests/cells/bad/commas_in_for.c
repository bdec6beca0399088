double f(double x) { for (int i = 0, i < 3, i++) x += i; return x; }
