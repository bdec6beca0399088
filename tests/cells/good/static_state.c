// types: count d->q, last d->d
// given: calls = [float(last(x)) for x in (1, 2, 3)]
// expect: calls == [0, 1, 2] exactly
static double before;
static long long calls;
long long count(double x) { (void)x; return ++calls; }
double last(double x) { double was = before; before = x; return was; }
