// expect: memory limit
#include <stdlib.h>
#include <string.h>
double f(double x) { for (;;) { char *p = malloc(1 << 26); if (!p) abort(); memset(p, 1, 1 << 26); } return x; }
