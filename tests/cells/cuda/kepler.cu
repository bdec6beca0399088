// E - e sin E = M by Newton's method.
__device__ double kepler(double mean, double e)
{
    double E = e < 0.8 ? mean : 3.141592653589793;
    for (int k = 0; k < 12; k++) {
        double s, c;
        sincos(E, &s, &c);
        E -= (E - e * s - mean) / (1.0 - e * c);
    }
    return E;
}
