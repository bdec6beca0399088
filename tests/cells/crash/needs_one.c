// bound: log_2
// note: log_2(0), log_2(-1), log_2(-2147483648): fails its assertion `n >= 1'
// value: log_2(9) == 3
#include <assert.h>
int log_2(int n) { assert(n >= 1); int k = 0; while (n >>= 1) k++; return k; }
