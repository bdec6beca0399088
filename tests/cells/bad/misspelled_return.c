double f(double x) { retrun 2*x; }
