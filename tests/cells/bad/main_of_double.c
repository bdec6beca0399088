double main(double x) { return x; }
