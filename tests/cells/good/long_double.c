// types: sum_of gg->g, split g->dd, fused ddd->d
// given: eps = np.finfo(np.longdouble).eps
// expect: sum_of(np.longdouble(1), eps) - 1 == eps exactly
// expect: split(np.longdouble(1) + eps) == [1, float(eps)] exactly
// expect: fused(0.1, 10, -1) == 5.551115123125783e-17 within 1e-15

#include <math.h>

long double sum_of(long double a, long double b) { return a + b; }
void split(long double x, double *high, double *low) { *high = (double)x; *low = (double)(x - *high); }
double fused(double a, double b, double c) { return fma(a, b, c); }
