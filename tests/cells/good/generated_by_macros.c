// types: twice d->d, square d->d, power3 d->d, pnorm5 d->d, max_d dd->d, max_f ff->f
// expect: [twice(3.0), square(3.0), power3(3.0)] == [6, 9, 27] exactly
// expect: pnorm5(0.0) == 0.5 exactly
// expect: max_d(1.0, [0.0, 2.0]) == [1, 2] exactly
// expect: max_f.types == ["ff->f"] exactly

#include <math.h>
#define EXPORT
#define UNARY(name, expression) EXPORT double name(double x) { return expression; }
UNARY(twice, x + x)
UNARY(square, x * x)
#define CUBE(x) \
    ((x) *      \
     (x) * (x))
UNARY(power3, CUBE(x))
#define pnorm pnorm5
double pnorm(double x) { return 0.5 * erfc(-x / M_SQRT2); }
#define MAX(suffix, T) T max_##suffix(T a, T b) { return a > b ? a : b; }
MAX(d, double) MAX(f, float)
