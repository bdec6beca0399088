// types: magnitude D->d, logarithm D->D
// expect: magnitude(3+4j) == 3 exactly
// expect: logarithm(1j) == np.log(1j) within 1e-15

#include <complex.h>
#define real(x) creal(x)
#define log(x) clog(x)
#define I _Complex_I

double magnitude(double complex z) { return real(z); }
double complex logarithm(double complex z) { return log(z); }
