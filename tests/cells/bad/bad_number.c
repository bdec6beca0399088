double f(double x) { return 0x1G + 1.2.3; }
