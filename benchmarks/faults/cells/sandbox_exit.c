// fault: a call that exits later, in a sandbox
// magic: c_ufunc -q --sandbox
// then: f(2e6)
#include <stdlib.h>
double f(double x)
{
    if (x > 1e6) exit(7);
    return x;
}
