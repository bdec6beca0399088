__device__ double j0_of(double x) { return j0(x); }
__device__ double i0_scaled(double x) { return exp(-fabs(x)) * cyl_bessel_i0(x); }
// The Kaiser window at x in [-1, 1].
__device__ double kaiser(double x, double beta) { return cyl_bessel_i0(beta * sqrt(1.0 - x * x)) / cyl_bessel_i0(beta); }
