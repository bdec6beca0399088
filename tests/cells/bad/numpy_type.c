float64 f(float64 x) { return x; }
