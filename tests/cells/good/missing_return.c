// types: f d->d
// warns: control reaches end of non-void function
// expect: f(2.0) == 2 exactly
double f(double x)
{
    if (x > 0)
        return x;
}
