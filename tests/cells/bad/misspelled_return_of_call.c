#include <math.h>
double f(double x) { retrun sin(x); }
double g(double x) { retrun x; }
