// bound: logit
// note: fails its assertion `p > 0 && p < 1' on line 7
// value: logit(0.5) == 0
#include <assert.h>
#include <math.h>
double logit(double p) {
    assert(p > 0 && p < 1);
    return log(p / (1 - p));
}
