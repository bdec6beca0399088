// types: j0_series d->d, i0_ratio d->d
// given: x = np.linspace(0, 6, 601)
// expect: j0_series([0, 1, 2.404825557695773, 5]) == [1, 0.7651976865579666, 0, -0.1775967713143383] within 1e-13 or 1e-14
// expect: i0_ratio(x) == np.i0(x) within 1e-14

#include <math.h>
#include <float.h>

double j0_series(double x)
{
    double term = 1, sum = 1, q = -x * x / 4;
    for (int k = 1; fabs(term) > DBL_EPSILON * fabs(sum) / 4 && k < 200; k++) sum += term *= q / ((double)k * k);
    return sum;
}

double i0_ratio(double x)
{
    double term = 1, sum = 1;
    int k = 1;
    do { term *= (x / 2) * (x / 2) / (k * (double)k); sum += term; k++; } while (term > sum * 1e-17);
    return sum;
}
