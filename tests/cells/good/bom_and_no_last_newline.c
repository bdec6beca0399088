// types: f d->d
// expect: f(2.0) == 4 exactly

double f(double x) { return 2*x; }