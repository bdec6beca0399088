double f(x) double x; { return x; }
double g(x, y) double x; { return x + z; }
