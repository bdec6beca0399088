#ifdef SOMETHING
double f(double x) { return x; }
