double f(double x) { return x; }
int f(int x) { return x; }
