double g(double x) { return x; }
#include "nowhere.h"
double f(double x) { return x; }
