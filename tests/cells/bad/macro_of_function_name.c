#define __ufm_0 1
#define f(x) 1
double f(double x) { return x; }
