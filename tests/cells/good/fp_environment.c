// types: up ff->f, failed d->i
// expect: up(np.float32(1), np.float32(2.0**-30)) == np.nextafter(np.float32(1), np.float32(2)) exactly
// expect: 1.0 + 2.0**-60 == 1 exactly
// expect: ignoring(lambda: failed([1.0, -1.0, 0.0])) == [0, 33, 34] exactly

#include <errno.h>
#include <fenv.h>
#include <math.h>

float up(float a, float b)
{
    const int before = fegetround();
    fesetround(FE_UPWARD);
    volatile float r = a + b;
    fesetround(before);
    return r;
}
int failed(double x) { errno = 0; volatile double y = log(x); (void)y; return errno; }
