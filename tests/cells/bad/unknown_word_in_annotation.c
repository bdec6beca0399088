// ufunc: (n)->() idenity=0
double norm(const double *x, int n) { return x[0] * n; }
