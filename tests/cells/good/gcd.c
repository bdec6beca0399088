// types: gcd ll->l, lcm ll->l, small ii->i
// given: a, b = np.arange(-20, 20)[:, None], np.arange(-30, 30)
// expect: gcd(a, b) == np.gcd(a, b) exactly
// expect: lcm(a, b) == np.lcm(a, b) exactly
// expect: gcd.reduce([12, 18, 30]) == 6 exactly
// expect: small(12, 18) == 6 exactly
// expect: small.reduce([12, 18, 30]) == 6 exactly
// expect: small.accumulate([12, 18, 30, 7]) == [12, 6, 6, 1] exactly
// expect: small(np.int32([12, 7]), 18).dtype == np.int32 exactly
// expect: gcd(a[:0], b).shape == (0, 60) exactly

#include <stdlib.h>

// ufunc: identity=0
long gcd(long a, long b) { while (b) { long t = a % b; a = b; b = t; } return labs(a); }
long lcm(long a, long b) { return a && b ? labs(a / gcd(a, b) * b) : 0; }
int small(int a, int b) { return b ? small(b, a % b) : abs(a); }
