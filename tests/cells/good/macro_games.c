// types: f d->d, g d->d, I d->d
// expect: [f(2.0), g(2.0), I(2.0)] == [4, 5, 3] exactly

#define n 2
#define steps 7
#define args (
#define data )
#define p nothing
#define m *
#define j ;
#define count }
#define types {
#define kernel 0
#define plan
#define char short
#define unsigned signed
#define void int
#define static
#define const
#define restrict
#define inline
#define if while
double f(double x) { return n * x; }
double g(double x) { return x + 3; }
double I(double x) types return x + 1 j count
