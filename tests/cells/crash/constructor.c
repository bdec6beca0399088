// expect: SIGSEGV while it is opened
__attribute__((constructor)) static void start(void) { *(volatile int *)0 = 1; }
double f(double x) { return x; }
