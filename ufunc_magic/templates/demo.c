// One function that NumPy could write as an expression, and one that it could not.
#include <math.h>

// Density of the normal distribution.
double bell(double x, double mean, double width) {
    double z = (x - mean) / width;
    return exp(-0.5 * z * z) / (fabs(width) * sqrt(2 * M_PI));
}

// Steps until z -> z*z + c leaves the disc of radius 2; 50 if it stays.
int mandelbrot(double x, double y) {
    double u = 0, v = 0;
    int n = 0;
    while (n < 50 && u * u + v * v <= 4) {
        double w = u * u - v * v + x;
        v = 2 * u * v + y;
        u = w;
        n++;
    }
    return n;
}
