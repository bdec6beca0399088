// types: mean (n)->() d->d, variance (n)->() d->d, scaled (n),()->(n) dd->d
// expect: mean(np.arange(12.).reshape(3, 4)) == [1.5, 5.5, 9.5] exactly
// expect: variance(np.arange(5.)) == 2 exactly
// expect: scaled([1., 2.], [[2.], [3.]]) == [[[2., 4.]], [[3., 6.]]] exactly
double mean(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s / n;
}
double variance(const double *x, int n)
{
    double m = mean(x, n), s = 0;
    for (int i = 0; i < n; ++i) s += (x[i] - m) * (x[i] - m);
    return s / n;
}
void scaled(const double *x, double a, double *y, long n) { for (long i = 0; i < n; i++) y[i] = a * x[i]; }
