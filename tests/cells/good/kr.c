// types: old di->d
// expect: old(1.5, 2) == 3 exactly

double old(x, n)
    double x;
    int n;
{
    return x * n;
}
