#if __STDC_VERSION__ > 1
#error "this cell is for a very old compiler"
#endif
double f(double x) { return x; }
