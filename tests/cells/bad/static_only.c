static double f(double x) { return x; }
static inline double g(double x) { return f(x); }
