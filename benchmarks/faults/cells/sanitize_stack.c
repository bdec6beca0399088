// fault: out of bounds on the stack, `--sanitize`
// magic: c_ufunc -q --sanitize
double f(int k)
{
    double a[4] = {1, 2, 3, 4};
    return a[k & 7];
}
