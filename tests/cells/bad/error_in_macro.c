#define HALF(x) ((x) / two)

double f(double x)
{
    return HALF(x);
}
