// Distance on a sphere of the Earth's radius in km; angles in degrees.
__device__ double haversine(double lat1, double lon1, double lat2, double lon2)
{
    const double half_degree = 1.0 / 360.0;
    double a = sinpi((lat2 - lat1) * half_degree), b = sinpi((lon2 - lon1) * half_degree);
    double h = a * a + cospi(2 * lat1 * half_degree) * cospi(2 * lat2 * half_degree) * b * b;
    return 2 * 6371.0088 * asin(fmin(1.0, sqrt(h)));
}
