cdef extern from *:
    """
    double gsl_sf_bessel_J0(double);
    """
    double gsl_sf_bessel_J0(double) nogil

cpdef double f(double x):
    return 2 * gsl_sf_bessel_J0(x)
