// types: logit d->d, expit d->d
// given: p = np.linspace(0.001, 0.999, 1001)
// expect: logit(p) == np.log(p) - np.log1p(-p) within 4e-13
// expect: expit(logit(p)) == p within 1e-14
// expect: logit([0.0, 0.5, 1.0]) == [-np.inf, 0, np.inf] exactly

#include <math.h>

/* The log-odds of a probability. */
double logit(double p) { return log(p / (1 - p)); }
double expit(double x) { return 1 / (1 + exp(-x)); }
