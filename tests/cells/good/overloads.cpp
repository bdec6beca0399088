// types: sq i->i f->f d->d, area dd->d, sincos_ d->dd, area_1 d->d
// expect: sq(3) == 9 exactly
// expect: sq(2.5) == 6.25 exactly
// expect: [sq(np.int32(3)).dtype.kind, sq(2.5).dtype.kind] == ["i", "f"] exactly
// expect: [area(2.0, 3.0), area_1(2.0)] == [6, 2] exactly
// expect: sincos_(0.0) == [0, 1] exactly

#include <cmath>

int sq(int x) { return x * x; }
float sq(float x) { return x * x; }
double sq(double x) { return x * x; }
double area(double a, double b = 1) { return a * b; }
void sincos_(double x, double &s, double &c) { s = std::sin(x); c = std::cos(x); }
