// options: compile_args="-fno-such-thing"
double f(double x) { return x; }
