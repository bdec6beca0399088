// expect: SIGSEGV
static volatile int *volatile nowhere;
__attribute__((constructor)) static void start(void) { *nowhere = 1; }
double f(double x) { return x; }
