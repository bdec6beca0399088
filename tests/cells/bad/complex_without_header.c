double complex f(double complex z) { return z; }
