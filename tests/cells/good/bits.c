// types: popcount Q->i, reverse I->I, parity B->?, leading I->i
// expect: popcount(np.uint64([0, 1, 255, 2**64-1])) == [0, 1, 8, 64] exactly
// expect: popcount(np.uint64([0, 1, 255, 2**40-1])) == [0, 1, 8, 40] exactly
// expect: reverse(np.uint32([1, 0x80000000, 0xF0])) == [0x80000000, 1, 0x0F000000] exactly
// expect: parity(np.arange(8, dtype="u1")) == [False, True, True, False, True, False, False, True] exactly
// expect: parity(np.uint8(3)).dtype == bool exactly
// expect: leading(np.uint32([1, 2**31])) == [31, 0] exactly

#include <stdbool.h>
#include <stdint.h>

int popcount(unsigned long long x) { int n = 0; for (; x; x &= x - 1) n++; return n; }
uint32_t reverse(uint32_t x)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++, x >>= 1) r = r << 1 | (x & 1);
    return r;
}
bool parity(uint8_t x) { x ^= x >> 4; x ^= x >> 2; x ^= x >> 1; return x & 1; }
int leading(unsigned x) { return __builtin_clz(x); }
