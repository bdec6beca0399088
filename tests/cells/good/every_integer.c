// types: i8 bb->b, u8 BB->B, i16 hh->h, u16 HH->H, i32 ii->i, u32 II->I
// types: i64 ll->l, u64 LL->L, ill qq->q, ull QQ->Q, size L->L, c b->b, offset l->l, flag ?->?
// expect: [f(np.array(100, t), np.array(27, t)).dtype for f, t in ((i8, "b"), (u8, "B"), (i16, "h"), (u16, "H"), (i32, "i"), (u32, "I"), (i64, "l"), (u64, "L"))] == [np.dtype(t) for t in "bBhHiIlL"] exactly
// expect: i8(np.int8(100), np.int8(27)) == 127 exactly
// expect: u8(np.uint8(200), np.uint8(100)) == 44 exactly
// expect: i32(np.int32(2**31 - 1), np.int32(1)) == -2**31 exactly
// expect: u64(np.uint64(2**63), np.uint64(1)) == 2**63 + 1 exactly
// expect: flag([True, False]) == [False, True] exactly
// expect: raises(OverflowError, lambda: u8(256, 1)) == "Python integer 256 out of bounds for uint8" exactly
// expect: [i32(1, 2).dtype.char, i16([1], 2).dtype.char, u8(200, 100).dtype.char] == ["i", "h", "B"] exactly

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int8_t i8(int8_t a, int8_t b) { return a + b; }
uint8_t u8(uint8_t a, uint8_t b) { return a + b; }
int16_t i16(int16_t a, int16_t b) { return a + b; }
uint16_t u16(uint16_t a, uint16_t b) { return a + b; }
int32_t i32(int32_t a, int32_t b) { return a + b; }
uint32_t u32(uint32_t a, uint32_t b) { return a + b; }
int64_t i64(int64_t a, int64_t b) { return a + b; }
uint64_t u64(uint64_t a, uint64_t b) { return a + b; }
long long int ill(long long a, signed long long int b) { return a + b; }
unsigned long long ull(unsigned long long a, long long unsigned b) { return a + b; }
size_t size(size_t n) { return n; }
signed char c(signed char x) { return -x; }
ptrdiff_t offset(ptrdiff_t x) { return x + 1; }
bool flag(bool x) { return !x; }
