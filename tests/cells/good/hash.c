// types: splitmix L->L, fnv1a (n)->() B->I, mix II->I
// given: data = np.frombuffer(b"foobar", "u1")
// expect: fnv1a(data) == 0xbf9cf968 exactly
// expect: splitmix(np.uint64(0)) == 0xe220a8397b1dcdaf exactly
// expect: splitmix(np.uint64(1) - np.uint64(1)) == 0xe220a8397b1dcdaf exactly
// expect: mix(np.uint32(5), np.uint32(7)) == 5 * 31 + 7 exactly

#include <stddef.h>
#include <stdint.h>

uint64_t splitmix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// ufunc: (n)->()
uint32_t fnv1a(const uint8_t *text, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) { h ^= text[i]; h *= 16777619u; }
    return h;
}
uint32_t mix(uint32_t h, uint32_t x) { return h * 31u + x; }
