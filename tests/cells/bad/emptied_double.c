#define double
double f(double x) { return x; }
