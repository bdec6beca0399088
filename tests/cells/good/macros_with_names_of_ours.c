// types: f id->d
// expect: f(2, 3.0) == 6 exactly
#define I 1
#define steps 0
#define args 0
#define dimensions 0
#define data 0
double f(int n, double x) { return I * n * x + steps + args + dimensions + data; }
