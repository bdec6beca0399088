// expect: crash (a jump into a function that has returned: what happens differs)
#include <setjmp.h>
static jmp_buf place;
static int mark(void) { return setjmp(place); }
double f(double x) { static int marked; if (!marked) { marked = 1; mark(); } longjmp(place, 1); return x; }
