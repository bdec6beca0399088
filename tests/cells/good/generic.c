// types: kind_of_d d->i, kind_of_f f->i, root ff->f, half d->d
// expect: [kind_of_d(1.0), kind_of_f(np.float32(1))] == [2, 1] exactly
// expect: root(np.float32(16), np.float32(0)) == 4 exactly
// expect: half(3.0) == 1.5 exactly

#include <math.h>
#include <tgmath.h>
#define KIND(x) _Generic((x), float: 1, double: 2, default: 0)

_Static_assert(sizeof(double) == 8, "double has 64 bits");
int kind_of_d(double x) { return KIND(x); }
int kind_of_f(float x) { return KIND(x); }
float root(float x, float y) { return sqrt(x) + sqrt(y); }
_Noreturn static void never(void) { __builtin_trap(); }
double half(double x) { if (x != x && 0) never(); return x / 2; }
