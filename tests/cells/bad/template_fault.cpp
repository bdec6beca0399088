#include <cmath>
template <typename T> T f(T x) { return x.size(); }
