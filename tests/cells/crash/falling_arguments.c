// bound: above
// note: fails its assertion `k < n'
// value: above(5, 2) == 3
#include <assert.h>
int above(int n, int k) { assert(k < n); return n - k; }
