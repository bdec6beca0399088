// Two words of random bits to two normal numbers.
__device__ void box_muller(unsigned a, unsigned b, float *x, float *y)
{
    float radius = sqrtf(-2.0f * logf((a + 1.0f) * 0x1p-32f));
    float s, c;
    sincospif(b * 0x1p-31f, &s, &c);
    *x = radius * c;
    *y = radius * s;
}
