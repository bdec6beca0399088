double naïve(double x) { return x; }
double f(double x) { return x − 1; }
