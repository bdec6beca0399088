_Static_assert(sizeof(long) == 2, "long has 16 bits here");
double f(double x) { return x; }
