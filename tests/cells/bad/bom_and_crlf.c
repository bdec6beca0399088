double f(double x)
{
    return y;
}
