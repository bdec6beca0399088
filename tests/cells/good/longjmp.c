// types: f d->d
// expect: f([-1.0, 4.0]) == [-1, 4] exactly
#include <setjmp.h>
static void leave(jmp_buf place, double x) { if (x < 0) longjmp(place, 1); }
double f(double x)
{
    jmp_buf place;
    if (setjmp(place))
        return -1;
    leave(place, x);
    return x;
}
