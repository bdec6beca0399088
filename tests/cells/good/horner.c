// types: horner (n),()->() dd->d, derivative (n),()->(),() dd->dd
// given: c, x = [2.0, -1.0, 0.5], np.linspace(-3, 3, 11)
// expect: horner(c, x) == np.polyval(c[::-1], x) within 1e-14
// expect: horner([1.0], 5.0) == 1 exactly
// expect: derivative(c, x)[1] == -1 + x within 1e-14 or 1e-15

// ufunc: (n),()->()
double horner(const double *c, int n, double x)
{
    double r = 0;
    while (n--) r = r * x + c[n];
    return r;
}

/* A polynomial and its derivative.
   ufunc: (n),()->(),()
*/
void derivative(const double *c, double x, int n, double *value, double *slope)
{
    *value = *slope = 0;
    for (int i = n - 1; i >= 0; i--) { *slope = *slope * x + *value; *value = *value * x + c[i]; }
}
