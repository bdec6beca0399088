#include <complex.h>
double f(double I) { return I; }
