// Hue in turns, saturation, value.
__device__ void rgb_to_hsv(float r, float g, float b, float *h, float *s, float *v)
{
    float most = max(r, max(g, b)), least = min(r, min(g, b)), range = most - least;
    float hue = 0.0f;
    if (range > 0.0f) {
        if (most == r)
            hue = (g - b) / range + (g < b ? 6.0f : 0.0f);
        else if (most == g)
            hue = (b - r) / range + 2.0f;
        else
            hue = (r - g) / range + 4.0f;
    }
    *h = hue / 6.0f;
    *s = most > 0.0f ? range / most : 0.0f;
    *v = most;
}
