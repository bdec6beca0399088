#include <math.h>
double f(double x) { return exp(x, 2); }
