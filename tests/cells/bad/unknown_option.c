// options: typs="f4"
double f(double x) { return x; }
