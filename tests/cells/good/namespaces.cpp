// types: to_f d->d, to_k d->d
// expect: to_f([0.0, 100.0]) == [32, 212] exactly
// expect: to_k(0.0) == 273.15 exactly

namespace units {
constexpr double zero = 273.15;
namespace { double scale(double x) { return x * 9 / 5; } }
double to_f(double c) { return scale(c) + 32; }
namespace inner { inline double to_k(double c) { return c + zero; } }
}
