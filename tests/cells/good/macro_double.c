// types: f i->i
// expect: f(7) == 3 exactly
#define double int
double f(double x) { return x / 2; }
