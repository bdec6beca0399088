#define x y
double f(double a) { return x; }
