// types: axpy (),(n),(n)->(n) ddd->d, normalise (3)->(3) d->d, swap dd->dd
// expect: axpy(2.0, [1.0, 2.0], [10.0, 20.0]) == [12, 24] exactly
// expect: normalise([3.0, 0.0, 4.0]) == [0.6, 0, 0.8] within 1e-15
// expect: swap(1.0, 2.0) == [2, 1] exactly

#include <math.h>

// ufunc: (),(n),(n)->(n)
void axpy(double a, const double *restrict x, const double *restrict y, double *restrict out, const int n)
{
    for (int i = 0; i < n; i++) out[i] = a * x[i] + y[i];
}
static inline double norm(const double v[static 3]) { return sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2]); }
void normalise(const double v[static restrict 3], double out[restrict static 3]) { for (int i = 0; i < 3; i++) out[i] = v[i] / norm(v); }
void swap(const double a, const double b, double *__restrict__ x, double *const y) { *x = b; *y = a; }
