double f(double x)
{
    double été = x;
    return étè;
}
