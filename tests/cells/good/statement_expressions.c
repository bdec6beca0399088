// types: clamp ddd->d, hypot3 ddd->d, vec d->d
// expect: clamp([-1.0, 0.5, 2.0], 0, 1) == [0, 0.5, 1] exactly
// expect: hypot3(1.0, 2.0, 2.0) == 3 exactly
// expect: vec(1.0) == 10 exactly

#include <math.h>
#define MAX(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define MIN(a, b) ({ __auto_type _a = (a); __auto_type _b = (b); _a < _b ? _a : _b; })
typedef double v4 __attribute__((vector_size(32)));

double clamp(double x, double low, double high) { return MIN(MAX(x, low), high); }
__attribute__((noinline, const)) static double square(double x) { return x * x; }
double hypot3(double x, double y, double z) { return sqrt(square(x) + square(y) + square(z)); }
double vec(double x) { v4 a = {1, 2, 3, 4}; a *= x; return a[0] + a[1] + a[2] + a[3]; }
