# types: cdf d->d, call_price ddddd->d, both ddddd->dd
# expect: cdf([0.0, 1.959963984540054]) == [0.5, 0.975] within 1e-14
# expect: call_price(100.0, 100.0, 1.0, 0.05, 0.2) == 10.450583572185565 within 1e-13
# expect: both(100.0, 100.0, 1.0, 0.05, 0.2) == (10.450583572185565, 5.573526022256971) within 1e-12
# cython: cdivision=True
from libc.math cimport erf, exp, log, sqrt


cdef double cdf(double x) noexcept nogil:
    return 0.5 * (1 + erf(x / sqrt(2.0)))


cdef double call_price(double s, double k, double t, double r, double sigma) noexcept nogil:
    cdef double d1 = (log(s / k) + (r + sigma * sigma / 2) * t) / (sigma * sqrt(t))
    return s * cdf(d1) - k * exp(-r * t) * cdf(d1 - sigma * sqrt(t))


cdef (double, double) both(double s, double k, double t, double r, double sigma) noexcept nogil:
    cdef double call = call_price(s, k, t, r, sigma)
    return call, call - s + k * exp(-r * t)
