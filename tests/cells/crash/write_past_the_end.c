// expect: past the end of y
// ufunc: (n)->(n)
void f(const double *x, double *y, int n) { for (int i = 0; i <= n; i++) y[i] = i < n ? x[i] : 0; }
