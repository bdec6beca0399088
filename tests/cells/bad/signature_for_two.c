// options: signature="(n)->()"
double f(const double *x, int n) { return x[n - 1]; }
double g(const double *x, int n) { return x[0]; }
