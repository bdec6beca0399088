// types: f ddddddddd->d, g dd->dd, h dd->d, k (n)->() d->d
// expect: f(1, 2, 3, 4, 5, 6, 7, 8, 9) == 45 exactly
// expect: g(1.0, 2.0) == [3, -1] exactly
// expect: h(5.0, 2.0) == 3 exactly
// expect: k([1.0, 2.0]) == 3 exactly

double f(double I, double n, double steps, double args, double data, double p, double m, double j, double T)
{
    return I + n + steps + args + data + p + m + j + T;
}
void g(double dimensions, double k, double *count, double *out) { *count = dimensions + k; *out = dimensions - k; }
double h(double from, double to) { return from - to; }
// ufunc: (n)->()
double k(const double *s, long n) { double r = 0; for (long i = 0; i < n; i++) r += s[i]; return r; }
