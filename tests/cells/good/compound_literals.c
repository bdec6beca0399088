// types: pick id->d, dot4 (4)->() d->d, checksum ddd->d
// expect: pick([0, 1, 2], 10.0) == [1, 10, 100] exactly
// expect: dot4([1.0, 1.0, 1.0, 1.0]) == 10 exactly
// expect: checksum(1.0, 2.0, 3.0) == 14 exactly

double pick(int i, double x) { return (const double[]){1, x, x * x}[i]; }
static double sum(const double *x, const double *w, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * w[i]; return s; }
double dot4(const double x[4]) { return sum(x, (double[4]){1, 2, 3, 4}, 4); }
double checksum(double a, double b, double c) { return sum((double[]){a, b, c}, (double[]){[2] = 3, [1] = 2, [0] = 1}, 3); }
