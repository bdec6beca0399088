# types: radians d->d, great_circle dddd->d
# given: lon, lat = np.array([30.0, 90.0, 120.0]), np.array([0.0, 0.0, 0.0])
# expect: great_circle(0.0, 0.0, lon, lat) == [np.pi/6*6371.0, np.pi/2*6371.0, np.pi*2/3*6371.0] within 1e-12
# expect: np.round(great_circle(0.0, 0.0, np.array([0.0, 180.0]), lat[:2])) == [0.0, 20015.0] exactly
# expect: great_circle(-72.345, 34.323, -61.823, 54.826) == 2421.1627036986774 within 1e-12
from libc.math cimport acos, cos, sin, M_PI

cdef double RADIUS = 6371.0  # km


cdef inline double radians(double degrees) noexcept nogil:
    return degrees * (M_PI / 180.0)


cpdef double great_circle(double lon1, double lat1, double lon2, double lat2) noexcept nogil:
    """Distance of two places in kilometres."""
    cdef double a = radians(90.0 - lat1)
    cdef double b = radians(90.0 - lat2)
    cdef double theta = radians(lon2 - lon1)
    cdef double c = cos(a) * cos(b) + sin(a) * sin(b) * cos(theta)
    return RADIUS * acos(min(1.0, max(-1.0, c)))
