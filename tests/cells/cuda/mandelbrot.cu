// Iterations until |z| > 2, at most `most`.
__device__ int mandelbrot(double re, double im, int most)
{
    double x = 0, y = 0;
    int n = 0;
    while (n < most && x * x + y * y <= 4.0) {
        double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
        n++;
    }
    return n;
}
