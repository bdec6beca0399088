double f(double x) { switch (x) { case 1: return 2; } return x; }
