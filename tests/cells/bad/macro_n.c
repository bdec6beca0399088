#define n 3
double f(const double x[n], int n) { return x[0]; }
