/* Integer intrinsics. */
#ifndef __UFM_CUDA_BITS_H
#define __UFM_CUDA_BITS_H
#pragma GCC system_header

__UFM_INLINE constexpr int __popc(unsigned x) { return __builtin_popcount(x); }
__UFM_INLINE constexpr int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__UFM_INLINE constexpr int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
__UFM_INLINE constexpr int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
__UFM_INLINE constexpr int __ffs(int x) { return __builtin_ffs(x); }
__UFM_INLINE constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
__UFM_INLINE constexpr unsigned __brev(unsigned x)
{
    x = __builtin_bswap32(x);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    return (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
}
__UFM_INLINE constexpr unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
/* Four bytes of the eight of y:x, chosen by the low three bits of each nibble; the fourth spreads the sign. */
__UFM_INLINE constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned r = 0;
    for (int k = 0; k < 4; k++)
        r |= (unsigned)(both >> 8 * (selector >> 4 * k & 7) & 0xff) << 8 * k;
    return r;
}
/* The position of the offset-th set bit from base on, upwards for positive offsets, or all bits set. */
__UFM_INLINE constexpr unsigned __fns(unsigned mask, unsigned base, int offset)
{
    if (offset == 0)
        return base < 32 && mask >> base & 1 ? base : ~0u;
    for (int k = (int)base, left = offset < 0 ? -offset : offset; k >= 0 && k < 32; k += offset < 0 ? -1 : 1)
        if ((mask >> k & 1) && --left == 0)
            return (unsigned)k;
    return ~0u;
}
__UFM_INLINE constexpr unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)(((unsigned long long)hi << 32 | lo) << (n & 31) >> 32);
}
__UFM_INLINE constexpr unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n)
{
    return n > 31 ? lo : __funnelshift_l(lo, hi, n);
}
__UFM_INLINE constexpr unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
__UFM_INLINE constexpr unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n)
{
    return n > 31 ? hi : __funnelshift_r(lo, hi, n);
}

__UFM_INLINE constexpr int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
__UFM_INLINE constexpr unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
__UFM_INLINE constexpr long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
__UFM_INLINE constexpr unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
__UFM_INLINE constexpr int __mul24(int x, int y)
{
    return (int)(((unsigned)((int)((unsigned)x << 8) >> 8)) * (unsigned)((int)((unsigned)y << 8) >> 8));
}
__UFM_INLINE constexpr unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
__UFM_INLINE constexpr int mulhi(int x, int y) { return __mulhi(x, y); }
__UFM_INLINE constexpr unsigned mulhi(unsigned x, unsigned y) { return __umulhi(x, y); }
__UFM_INLINE constexpr unsigned mulhi(int x, unsigned y) { return __umulhi((unsigned)x, y); }
__UFM_INLINE constexpr unsigned mulhi(unsigned x, int y) { return __umulhi(x, (unsigned)y); }
__UFM_INLINE constexpr long long mul64hi(long long x, long long y) { return __mul64hi(x, y); }
__UFM_INLINE constexpr unsigned long long mul64hi(unsigned long long x, unsigned long long y)
{
    return __umul64hi(x, y);
}
__UFM_INLINE constexpr unsigned long long mul64hi(long long x, unsigned long long y)
{
    return __umul64hi((unsigned long long)x, y);
}
__UFM_INLINE constexpr unsigned long long mul64hi(unsigned long long x, long long y)
{
    return __umul64hi(x, (unsigned long long)y);
}
__UFM_INLINE constexpr int mul24(int x, int y) { return __mul24(x, y); }
__UFM_INLINE constexpr unsigned umul24(unsigned x, unsigned y) { return __umul24(x, y); }

__UFM_INLINE constexpr int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
__UFM_INLINE constexpr int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
__UFM_INLINE constexpr unsigned __uhadd(unsigned x, unsigned y) { return (unsigned)(((unsigned long long)x + y) >> 1); }
__UFM_INLINE constexpr unsigned __urhadd(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x + y + 1) >> 1);
}
__UFM_INLINE constexpr unsigned __sad(int x, int y, unsigned z)
{
    return (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x) + z;
}
__UFM_INLINE constexpr unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }

#endif
