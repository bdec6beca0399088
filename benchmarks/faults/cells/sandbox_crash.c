// fault: a call that crashes later, in a sandbox
// magic: c_ufunc -q --sandbox
// then: f(2e6)
double f(double x)
{
    if (x > 1e6) *(volatile int *)0 = 1;
    return x;
}
