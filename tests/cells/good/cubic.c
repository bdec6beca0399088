// types: cubic dddd->ddd
// given: r = cubic(1.0, -6.0, 11.0, [-6.0, -6.0])
// expect: np.sort(np.array(r), axis=0)[:, 0] == [1, 2, 3] within 1e-14
// expect: cubic(1.0, 0.0, 0.0, -8.0) == [2, np.nan, np.nan] within 1e-14

#include <math.h>

/* The real roots of a*x^3 + b*x^2 + c*x + d; NaN where there is none. */
void cubic(double a, double b, double c, double d, double *x1, double *x2, double *x3)
{
    b /= a; c /= a; d /= a;
    const double q = (b*b - 3*c) / 9, r = (2*b*b*b - 9*b*c + 27*d) / 54;
    *x2 = *x3 = NAN;
    if (r*r < q*q*q) {
        const double t = acos(r / sqrt(q*q*q)), s = -2 * sqrt(q);
        *x1 = s * cos(t / 3) - b / 3;
        *x2 = s * cos((t + 2*M_PI) / 3) - b / 3;
        *x3 = s * cos((t - 2*M_PI) / 3) - b / 3;
        return;
    }
    const double A = -copysign(cbrt(fabs(r) + sqrt(r*r - q*q*q)), r), B = A ? q / A : 0;
    *x1 = A + B - b / 3;
}
