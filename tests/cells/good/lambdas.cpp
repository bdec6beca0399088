// types: integrate dd->d, compose d->d
// expect: integrate(0.0, 3.0) == 9 within 1e-12
// expect: compose(2.0) == 9 exactly

#include <functional>

template <class F> static double simpson(F f, double a, double b, int n)
{
    double h = (b - a) / n, s = f(a) + f(b);
    for (int i = 1; i < n; i++) s += (i % 2 ? 4 : 2) * f(a + i * h);
    return s * h / 3;
}
double integrate(double a, double b) { return simpson([](double x) { return x * x; }, a, b, 100); }
double compose(double x)
{
    const double one = 1;
    auto plus = [one](double y) { return y + one; };
    std::function<double(double)> square = [](double y) { return y * y; };
    return square(plus(x));
}
