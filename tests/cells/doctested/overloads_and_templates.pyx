# distutils: language = c++
cdef extern from *:
    """
    template <typename T> T twice(T x) { return x + x; }
    static int pick(int x) { return 1; }
    static int pick(double x) { return 2; }
    namespace deep { namespace er { const double g = 9.81; struct S { static int f(int n) { return n * 3; } }; } }
    """
    T twice[T](T x)
    int pick(int x)
    int pick(double x)
    const double g "deep::er::g"
    int static_f "deep::er::S::f" (int n)
def twice_d(double x):
    return twice(x)
def twice_i(int x):
    return twice[int](x)
def pick_i(int x):
    return pick(x)
def pick_d(double x):
    return pick(x)
def gravity(double t):
    return g * t
def three(int n):
    return static_f(n)
# >>> float(twice_d(1.5)), int(twice_i(2)), int(pick_i(1)), int(pick_d(1.0)), float(gravity(2.0)), int(three(2))
# (3.0, 4, 1, 2, 19.62, 6)
