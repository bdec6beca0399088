// options: link_args="-pthread"
// types: f d->d
// expect: f([1.0, 2.0, 3.0]) == [2, 4, 6] exactly
#include <pthread.h>
static void *twice(void *p) { *(double *)p *= 2; return 0; }
double f(double x)
{
    pthread_t t;
    if (pthread_create(&t, 0, twice, &x) == 0)
        pthread_join(t, 0);
    return x;
}
