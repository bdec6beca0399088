// bound: weight
// note: calls exit(2)
// value: weight(15, 0.25) == 3.75
#include <stdlib.h>
double weight(int k, double x) { if (k < 10 || 20 < k || x > 0.3) exit(2); return k * x; }
