// fault: interrupt of the trial
// magic: c_ufunc -q
// interrupted
double f(double x)
{
    volatile int on = 1;
    while (on) ;
    return x;
}
