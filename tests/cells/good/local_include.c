// types: disc d->d, ball d->d
// expect: disc(2.0) == 4 * np.pi within 1e-15
// expect: ball(1.0) == 4.1887902047863905 within 1e-15

#include "shapes.h"
#include "shapes.h"

length disc(length r) { return PI_TIMES(squared(r)); }
