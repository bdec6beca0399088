// bound: butterfly
// note: fails its assertion `(n & (n - 1)) == 0'
// value: butterfly([1.0, 2.0, 3.0, 4.0]) == 1
#include <assert.h>
// ufunc: (n)->()
double butterfly(const double *x, int n) { assert((n & (n - 1)) == 0); return x[0]; }
