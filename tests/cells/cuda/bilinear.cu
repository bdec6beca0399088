// Between the four corners of a unit square, as texture units do it.
static __device__ float lerp(float a, float b, float t) { return fmaf(t, b - a, a); }
__device__ float bilinear(float p00, float p10, float p01, float p11, float u, float v)
{
    return lerp(lerp(p00, p10, u), lerp(p01, p11, u), v);
}
