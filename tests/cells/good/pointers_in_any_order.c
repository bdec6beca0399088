// types: first dd->dd, middle dd->ddd, newton dd->d, status d->id
// expect: first(5.0, 3.0) == [8, 2] exactly
// expect: middle(7.0, 2.0) == [3, 1, 3.5] exactly
// expect: status([4.0, -1.0])[0] == [0, -1] exactly
// expect: status([4.0, -1.0])[1] == [2, 0] exactly

#include <math.h>

void first(double *sum, double *difference, double a, double b) { *sum = a + b; *difference = a - b; }
double middle(double a, double *rest, double b, double *ratio) { double q = floor(a / b); *rest = a - q * b; *ratio = a / b; return q; }
double newton(double x, double guess) { for (int i = 0; i < 50; i++) guess = (guess + x / guess) / 2; return guess; }
/* 0 if all is well; an output that is not written is 0. */
int status(double x, double *root) { if (x < 0) return -1; *root = sqrt(x); return 0; }
