cdef double decay(double t, double tau):
    return np.exp(-t / tau)
