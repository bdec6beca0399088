// types: mobius DDDD->D, phase F->f, roots DDD->DD, conj_of G->G
// given: z = np.array([1+2j, -0.5j, 3])
// expect: mobius(z, 1, 2, 3) == (z + 1) / (2*z + 3) within 1e-15
// expect: phase(np.complex64(1j)) == np.float32(np.pi/2) within 1e-7
// expect: np.array(roots(1, -3, 2)) == [2, 1] within 1e-15
// expect: conj_of(np.clongdouble(1+2j)) == 1-2j exactly

#include <complex.h>

double complex mobius(double complex z, double complex a, double complex b, double complex c) { return (z + a) / (b * z + c); }
float phase(float complex z) { return cargf(z); }
void roots(double _Complex a, _Complex double b, double complex c, double complex *p, double complex *q)
{
    double complex s = csqrt(b*b - 4*a*c);
    *p = (-b + s) / (2*a);
    *q = (-b - s) / (2*a);
}
long double complex conj_of(long double complex z) { return conjl(z); }
