// types: distance dddd->d, area ddd->d
// expect: distance(0, 0, 3, 4) == 5 exactly
// expect: area(3.0, 4.0, 5.0) == 6 within 1e-15

#include <math.h>

struct point { double x, y; };
typedef struct { struct point a, b; } segment;
union both { double d; unsigned long long bits; };

static double length(segment s) { return hypot(s.b.x - s.a.x, s.b.y - s.a.y); }
double distance(double x1, double y1, double x2, double y2)
{
    union both zero = {.d = 0};
    return length((segment){{x1, y1}, {x2, y2}}) + (double)zero.bits;
}
double area(double a, double b, double c)
{
    struct { double s; } half = {.s = (a + b + c) / 2};
    return sqrt(half.s * (half.s - a) * (half.s - b) * (half.s - c));
}
