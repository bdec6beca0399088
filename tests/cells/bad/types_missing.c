T f(T x) { return 2 * x; }
