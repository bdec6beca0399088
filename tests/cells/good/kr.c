// types: old di->d dl->d, older ii->i ll->l
// expect: old(1.5, 2) == 3 exactly
// expect: older(7, 2) == 3 exactly

double old(x, n)
    double x;
    int n;
{
    return x * n;
}

older(a, b) { return a / b; }
