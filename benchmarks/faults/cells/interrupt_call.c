// fault: interrupt of a call over a large array
// magic: c_ufunc -q
// then: f(np.zeros(10**8))
// interrupted
#include <math.h>
double f(double x)
{
    for (int i = 0; i < 300; i++) x = cos(x);
    return x;
}
