// types: größe d->d
// expect: größe(2.0) == 6 exactly
double größe(double été) { return 3 * été; }
