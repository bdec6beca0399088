// fault: interrupt of a compilation
// magic: c_ufunc -q -+
// interrupted
#include <regex>
#include <iostream>
#include <map>
template <int n> struct A { static int v(int x) { return x * A<n - 1>::v(x + n); } };
template <> struct A<0> { static int v(int x) { return x; } };
int f(int x) { return A<800>::v(x); }
