// types: root d->d, strange i->i, caught d->d, thrown i->i, mean (n)->() d->d
// expect: root([4.0, 9.0]) == [2, 3] exactly
// expect: raises(ValueError, lambda: root([4.0, -1.0])) == "root of a negative number" exactly
// expect: raises(RuntimeError, lambda: strange(1)) == "the C++ function threw an object of type int, which is no std::exception" exactly
// expect: caught(-1.0) == 0 exactly
// expect: raises(ValueError, lambda: thrown(1)) == "1" exactly
// expect: raises(IndexError, lambda: thrown([0, 2])) == "2" exactly
// expect: raises(OverflowError, lambda: thrown(3)) == "3" exactly
// expect: raises(IndexError, lambda: thrown(4)) == "4" exactly
// expect: raises(RuntimeError, lambda: thrown(5)) == "5" exactly
// expect: raises(RuntimeError, lambda: thrown(6)) == "std::length_error: 6" exactly
// expect: raises(RuntimeError, lambda: thrown(7)) == "mine::Error: 7" exactly
// expect: "range_check" in raises(IndexError, lambda: thrown(8)) == True exactly
// expect: raises(RuntimeError, lambda: thrown(9)) == "std::bad_alloc" exactly
// expect: raises(ValueError, lambda: mean(np.ones(0))) == "of nothing" exactly

#include <cmath>
#include <new>
#include <stdexcept>
#include <vector>

double root(double x)
{
    if (x < 0) throw std::domain_error("root of a negative number");
    return std::sqrt(x);
}
int strange(int x) { if (x) throw x; return x; }
double caught(double x) { try { return root(x); } catch (const std::exception &) { return 0; } }

struct Derived : std::out_of_range { using std::out_of_range::out_of_range; };
namespace mine {
struct Error : std::exception { const char *what() const noexcept override { return "7"; } };
}
int thrown(int kind)
{
    switch (kind) {
    case 1: throw std::invalid_argument("1");
    case 2: throw std::out_of_range("2");
    case 3: throw std::overflow_error("3");
    case 4: throw Derived("4");
    case 5: throw std::runtime_error("5");
    case 6: throw std::length_error("6");
    case 7: throw mine::Error();
    case 8: return std::vector<int>(3).at(kind);
    case 9: throw std::bad_alloc();
    }
    return kind;
}
// ufunc: (n)->()
double mean(const double *x, int n)
{
    if (!n) throw std::invalid_argument("of nothing");
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s / n;
}
