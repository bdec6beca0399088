// types: next_id d->d, noisy d->d
// expect: next_id(np.zeros(5)) == [1, 2, 3, 4, 5] exactly
// expect: next_id(np.zeros((2, 3))[:, ::2]) == [[6, 7], [8, 9]] exactly
// expect: noisy(np.zeros(4)) == [0, 1, 0, 1] exactly

#include <stdlib.h>

double next_id(double x) { static int calls; (void)x; return ++calls; }
static int toggle = 1;
double noisy(double x) { toggle = !toggle; return x + toggle; }
