// options: include=["."]
// types: norm, ball d->d, kind I->i
// given: at = np.zeros((), [("x", "f8"), ("y", "f8")])
// given: at["x"], at["y"] = 3, 4
// expect: norm(at) == 5 exactly
// expect: ball(1.0) == 4.1887902047863905 within 1e-15
// expect: kind(2) == 3 exactly

#include <math.h>
#include <points.h>
#include <shapes.h>

double norm(const struct point *p) { return sqrt(p->x * p->x + p->y * p->y); }
int kind(enum kind k) { return k + ONE; }
