#include <math.h>
int sin(int x) { return x; }
