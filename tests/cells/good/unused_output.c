// types: f d->d
// expect: f(2.0) == 0 exactly
void f(double x, double *y) { (void)x; }
