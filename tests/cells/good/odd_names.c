// types: sin d->d, malloc d->d, lambda_ d->d, print d->d, read d->d, write d->d, y0 d->d, free d->d, exp d->d
// expect: [sin(1.0), malloc(1.0), lambda_(1.0), print(1.0), read(1.0), write(1.0), y0(1.0), free(1.0), exp(1.0)] == np.arange(1, 10) exactly
// expect: np.sin(0.5) == 0.479425538604203 exactly

double sin(double x) { return x; }
double malloc(double x) { return x + 1; }
double lambda(double x) { return x + 2; }
double print(double x) { return x + 3; }
double read(double x) { return x + 4; }
double write(double x) { return x + 5; }
double y0(double x) { return x + 6; }
double free(double x) { return x + 7; }
double exp(double x) { return x + 8; }
int main(int argc, char **argv) { return argc; }
