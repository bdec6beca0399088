// types: sq d->d, cube d->d, my_half d->d, twice d->d, thrice d->d, add_double dd->d, add_int ii->i, f d->d, braces d->d
// expect: (sq(3.), cube(3.), my_half(3.)) == (9, 27, 1.5) exactly
// expect: (twice(3.), thrice(3.), add_double(1., 2.), add_int(1, 2), f(2.), braces(3.)) == (6, 9, 3, 3, 2, 4) exactly
// expect: ('The square.' in sq.__doc__) == True exactly
#include <math.h>
#define FN(name, e) double name(double x) { return e; }
// The square.
FN(sq, x*x)
FN(cube, x*x*x)
#define PRE(n) my_##n
double PRE(half)(double x) { return x / 2; }
#define FUNCTIONS X(twice, 2) \
    X(thrice, 3)
#define X(name, k) double name(double x) { return (x) - (1 - k) * (x); }
FUNCTIONS
#undef X
#define OP(name, T) T name##_##T(T x, T y) { return x + y; }
OP(add, double) OP(add, int)
#ifdef SMALL
#define LOCAL
#else
#define LOCAL static
#endif
LOCAL double hidden(double x) { return x; }
#define BEGIN {
#define END }
double f(double x) BEGIN return hidden(x); END
double (braces)(double x) BEGIN return x + 1; END
