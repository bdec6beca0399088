// bound: never twice
// note: never: not tried out, nor timed: never(0.5) was still running after 0.5 s
// value: twice(2.0) == 4
double never(double x) {
    volatile int on = 1;
    while (on) { }
    return x;
}
double twice(double x) { return 2 * x; }
