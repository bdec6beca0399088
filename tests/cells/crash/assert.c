// expect: fails its assertion
#include <assert.h>
double f(double x) { assert(x == 0 && x == 1); return x; }
