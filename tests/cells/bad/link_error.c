double gsl_sf_bessel_J0(double x);
static double g(double x) { return 2 * x; }
double f(double x)
{
    return g(gsl_sf_bessel_J0(x));
}
