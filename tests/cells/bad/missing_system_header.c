#include <gsl/gsl_sf_nowhere.h>
double f(double x) { return gsl_sf_bessel_J0(x); }
