// bound: twice
// refused: bad calls abort() (SIGABRT), line 6
// value: twice(2.0) == 4
#include <stdlib.h>
double bad(double x) {
    abort();
}
double twice(double x) { return 2 * x; }
