// types: malloc d->d, sin d->d, lambda_ d->d, print d->d
// expect: malloc(2.0) == 3 exactly
// expect: sin(2.0) == 4 exactly
// expect: lambda_(2.0) == 5 exactly
// expect: print(2.0) == 6 exactly
double malloc(double x) { return x + 1; }
double sin(double x) { return x + 2; }
double lambda(double x) { return x + 3; }
double print(double x) { return x + 4; }
