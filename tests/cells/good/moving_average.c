// types: moving_average (n),()->(n) dl->d, cumulative (n)->(n) d->d
// given: x = np.arange(10.0)
// expect: moving_average(x, 3) == np.r_[0, 0.5, np.convolve(x, np.ones(3)/3, "valid")] within 1e-15
// expect: moving_average(np.stack([x, -x])[:, ::-1], 1) == np.stack([x, -x])[:, ::-1] exactly
// expect: cumulative(x) == np.cumsum(x) exactly
// expect: cumulative(np.zeros((3, 0))).shape == (3, 0) exactly

// ufunc: (n),()->(n)
void moving_average(const double *x, long width, double *out, long n)
{
    double s = 0;
    for (long i = 0; i < n; i++) {
        s += x[i];
        if (i >= width) s -= x[i - width];
        out[i] = s / (i + 1 < width ? i + 1 : width);
    }
}

// ufunc: (n)->(n) inout=x
void cumulative(double *x, int n) { for (int i = 1; i < n; i++) x[i] += x[i - 1]; }
