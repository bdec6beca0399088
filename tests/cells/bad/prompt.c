$ gcc -O3
>>> double f(double x) { return x; }
