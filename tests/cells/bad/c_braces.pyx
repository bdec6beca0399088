cdef double logit(double p) {
    return p / (1 - p);
}
