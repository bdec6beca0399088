// types: dot (n),(n)->() dd->d, cross (3),(3)->(3) dd->d
// given: a, b = np.arange(6.0).reshape(2, 3), np.ones(3)
// expect: dot(a, b) == a @ b exactly
// expect: cross([1.0, 0, 0], [0.0, 1, 0]) == [0, 0, 1] exactly

#include <numeric>

// ufunc: (n),(n)->()
double dot(const double *a, const double *b, long n) { return std::inner_product(a, a + n, b, 0.0); }
void cross(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}
