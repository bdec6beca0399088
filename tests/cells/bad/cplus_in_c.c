#include <cmath>
template <typename T> T f(T x) { return std::exp(x); }
