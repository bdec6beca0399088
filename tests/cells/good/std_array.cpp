// types: median3 ddd->d, poly d->d, fib i->l
// expect: median3(3.0, 1.0, [0.0, 2.0, 9.0]) == [1, 2, 3] exactly
// expect: poly(2.0) == 17 exactly
// expect: fib([0, 1, 10, 50]) == [0, 1, 55, 12586269025] exactly

#include <algorithm>
#include <array>
#include <vector>

double median3(double a, double b, double c)
{
    std::array<double, 3> v{a, b, c};
    std::sort(v.begin(), v.end());
    return v[1];
}
constexpr std::array<double, 3> coefficients{1, 2, 3};
double poly(double x)
{
    double r = 0;
    for (auto it = coefficients.rbegin(); it != coefficients.rend(); ++it) r = r * x + *it;
    return r;
}
long fib(int n)
{
    std::vector<long> f(static_cast<size_t>(n) + 2);
    f[1] = 1;
    for (size_t i = 2; i < f.size(); i++) f[i] = f[i - 1] + f[i - 2];
    return f[static_cast<size_t>(n)];
}
