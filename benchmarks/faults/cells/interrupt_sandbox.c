// fault: interrupt of an endless call, in a sandbox
// magic: c_ufunc -q --sandbox
// then: f(2e6)
// interrupted
double f(double x)
{
    volatile int on = x > 1e6;
    while (on) ;
    return x;
}
