// bound: twice
// refused: shift writes just past the end of y (SIGSEGV), line 5
// value: twice(2.0) == 4
// ufunc: (n)->(n)
void shift(const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i + 1] = x[i]; y[0] = 0; }
double twice(double x) { return 2 * x; }
