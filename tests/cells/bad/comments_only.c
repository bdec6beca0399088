/* double f(double x) { return x; } */
// double g(double x) { return x; }
#if 0
double h(double x) { return x; }
#endif
