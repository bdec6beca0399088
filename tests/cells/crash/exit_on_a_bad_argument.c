// bound: root
// note: calls exit(1)
// value: root(4.0) == 2
#include <math.h>
#include <stdlib.h>
double root(double x) { if (x < 0) exit(1); return sqrt(x); }
