#include <math.h>

double f(double x)
{
	double y = exp(x)
	return y;
}
