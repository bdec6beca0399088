// expect: SIGABRT
#include <stdlib.h>
double f(double x) { if (x == x) abort(); return x; }
