#include <stdio.h>
double f(double x) { printf("%f\n, x); return x; }
