#ifndef SHAPES_H
#define SHAPES_H
#define PI_TIMES(x) (3.141592653589793 * (x))
typedef double length;
static inline double squared(length x) { return x * x; }
/* The volume of a ball. */
length ball(length r) { return PI_TIMES(4.0 / 3) * r * squared(r); }
#endif
