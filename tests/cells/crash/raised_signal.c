// expect: SIGBUS
#include <signal.h>
double f(double x) { if (x == x) raise(SIGBUS); return x; }
