#include <math.h>
double area(double r) { return PI * r * r; }
