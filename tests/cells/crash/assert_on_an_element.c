// bound: mean_log
// note: fails its assertion `x[i] > 0 && x[i] < 1'
// value: mean_log([0.5, 0.5]) == log(0.5)
#include <assert.h>
#include <math.h>
// ufunc: (n)->()
double mean_log(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        assert(x[i] > 0 && x[i] < 1);
        s += log(x[i]);
    }
    return s / n;
}
