double f(double x) {
    return sin(x) + ;
}
