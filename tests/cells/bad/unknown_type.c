real f(real x) { return 2 * x; }
