#include <math.h>
static double a(double x) { return x; }
static double b(double x) { return a(x); }

/* The error is far down, below a directive and after a continued line. */
#define SUM(x, y) \
    ((x) +        \
     (y))
double c(double x)
{
    double y = SUM(a(x), b(x));
	return y + undeclared;
}
