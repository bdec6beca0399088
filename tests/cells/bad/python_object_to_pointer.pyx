def first(double *p):
    return p[0]
