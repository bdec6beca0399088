#define SQ(x) ((x)*(x))
double f(double x) {
    return SQ(x+1;
}
double g(double x) { return x; }
