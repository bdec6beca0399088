// types: factorial i->l, power3 d->d, table i->l
// expect: power3(2.0) == 8 exactly
// expect: table([0, 5, 10]) == [1, 120, 3628800] exactly

constexpr long factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
template <int N> constexpr double power(double x) { if constexpr (N == 0) return 1; else return x * power<N - 1>(x); }
double power3(double x) { return power<3>(x); }
struct Table {
    long value[12];
    constexpr Table() : value() { for (int i = 0; i < 12; i++) value[i] = factorial(i); }
};
static constexpr Table made;
long table(int n) { return made.value[n]; }
