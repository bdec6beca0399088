// options: strict=True, fast_math=True
double f(double x) { return x; }
