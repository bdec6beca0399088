// expect: SIGSEGV
#include <pthread.h>
static void *work(void *p) { *(volatile int *)p = 1; return 0; }
double f(double x) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); return x; }
