#define SQ(x) ((x)*(x))
double f(double x) { return SQ(x, 2); }
