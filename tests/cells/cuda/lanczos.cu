// The weight of a sample at distance x in Lanczos interpolation with three lobes.
__device__ float lanczos3(float x)
{
    float ax = fabsf(x);
    if (ax < 1e-6f) return 1.0f;
    if (ax >= 3.0f) return 0.0f;
    float px = 3.14159265f * ax;
    return 3.0f * sinpif(ax) * sinpif(ax / 3.0f) / (px * px);
}
