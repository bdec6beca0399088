// types: f d->d
// expect: f(2.0) == 44 exactly
static double start;
__attribute__((constructor)) static void begin(void) { start = 42; }
double f(double x) { return x + start; }
