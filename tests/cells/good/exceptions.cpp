// types: root d->d, strange i->i, caught d->d
// expect: root([4.0, 9.0]) == [2, 3] exactly
// expect: raises(RuntimeError, lambda: root([4.0, -1.0])) == "root of a negative number" exactly
// expect: raises(RuntimeError, lambda: strange(1)) == "the C++ function threw an object that is not a std::exception" exactly
// expect: caught(-1.0) == 0 exactly

#include <cmath>
#include <stdexcept>

double root(double x)
{
    if (x < 0) throw std::domain_error("root of a negative number");
    return std::sqrt(x);
}
int strange(int x) { if (x) throw x; return x; }
double caught(double x) { try { return root(x); } catch (const std::exception &) { return 0; } }
