double f(double x) { return x; }
/* what follows
double g(double x) { return x; }
