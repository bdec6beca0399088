// Philox 4x32-10 (Salmon et al., SC'11): a counter and a key to four words; the first as a number in [0, 1).
static __device__ void philox_round(uint4 &c, uint2 key)
{
    unsigned hi0 = __umulhi(0xD2511F53u, c.x), lo0 = 0xD2511F53u * c.x;
    unsigned hi1 = __umulhi(0xCD9E8D57u, c.z), lo1 = 0xCD9E8D57u * c.z;
    c = make_uint4(hi1 ^ c.y ^ key.x, lo1, hi0 ^ c.w ^ key.y, lo0);
}
static __device__ uint4 philox4x32(unsigned long long counter, unsigned long long seed)
{
    uint4 c = make_uint4((unsigned)counter, (unsigned)(counter >> 32), 0, 0);
    uint2 key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    for (int k = 0; k < 10; k++) {
        philox_round(c, key);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return c;
}
__device__ unsigned philox(unsigned long long counter, unsigned long long seed) { return philox4x32(counter, seed).x; }
__device__ float philox_uniform(unsigned long long counter, unsigned long long seed)
{
    return (philox4x32(counter, seed).x >> 8) * 0x1p-24f;
}
