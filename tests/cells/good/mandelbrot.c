// types: mandelbrot dd->i, escapes Di->i
// given: outside = next(n for n in range(200) if abs(__import__("functools").reduce(lambda z, _: z*z + 0.4+0.5j, range(n), 0)) > 2)
// expect: mandelbrot([-1.0, 0.0, 2.0, 0.4], [0.0, 1.0, 2.0, 0.5]) == [200, 200, 1, outside] exactly
// expect: escapes(np.array([-1, 1j, 2+2j, 0.4+0.5j]), 200) == [200, 200, 1, outside] exactly

#include <complex.h>

int mandelbrot(double x, double y)
{
    double a = 0, b = 0;
    int n;
    for (n = 0; n < 200 && a*a + b*b <= 4; n++) {
        double t = a*a - b*b + x;
        b = 2*a*b + y;
        a = t;
    }
    return n;
}

int escapes(double complex c, int most)
{
    double complex z = 0;
    int n = 0;
    while (n < most && creal(z)*creal(z) + cimag(z)*cimag(z) <= 4) { z = z*z + c; n++; }
    return n;
}
