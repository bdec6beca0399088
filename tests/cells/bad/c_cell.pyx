#include <math.h>

double logit(double p) {
    return log(p / (1 - p));
}
