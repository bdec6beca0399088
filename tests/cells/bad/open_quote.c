double f(double x) { char c = 'ab; return c; }
