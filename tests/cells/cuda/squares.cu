// The squares generator (Widynski, 2020): a counter and a key to 32 bits.
__device__ unsigned squares32(unsigned long long counter, unsigned long long key)
{
    unsigned long long x = counter * key, y = x, z = y + key;
    x = x * x + y;
    x = (x >> 32) | (x << 32);
    x = x * x + z;
    x = (x >> 32) | (x << 32);
    x = x * x + y;
    x = (x >> 32) | (x << 32);
    return (unsigned)((x * x + z) >> 32);
}
