double f(double x):
    return 2*x
