// Bits of two coordinates interleaved: Z order.
static __device__ unsigned spread(unsigned x)
{
    x &= 0xffffu;
    x = (x | x << 8) & 0x00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}
__device__ unsigned morton(unsigned x, unsigned y) { return spread(x) | spread(y) << 1; }
__device__ int leading_zeros(int x) { return __clz(x); }
