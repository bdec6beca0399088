%%c_ufunc
double f(double x) { return x; }
