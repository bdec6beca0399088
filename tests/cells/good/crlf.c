// types: f d->d
// expect: f(2.0) == 5 exactly

#define TWICE(x) \
    ((x) + (x))
/* A comment
   on two lines. */
double f(double x)
{
    return TWICE(x) + 1;
}
