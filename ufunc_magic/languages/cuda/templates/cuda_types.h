/* Vector types and their makers. */
#ifndef __UFM_CUDA_TYPES_H
#define __UFM_CUDA_TYPES_H
#pragma GCC system_header

/* Sizes and alignments are those of device code: structures of them travel to a GPU as they are. */
#define __UFM_VECTORS(name, T, two, four)                                                                              \
    struct name##1 { T x; };                                                                                           \
    struct __attribute__((__aligned__(two))) name##2 { T x, y; };                                                      \
    struct name##3 { T x, y, z; };                                                                                     \
    struct __attribute__((__aligned__(four))) name##4 { T x, y, z, w; };                                               \
    static inline constexpr name##1 make_##name##1(T x) { return {x}; }                                                \
    static inline constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                                        \
    static inline constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                \
    static inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
__UFM_VECTORS(char, signed char, 2, 4)
__UFM_VECTORS(uchar, unsigned char, 2, 4)
__UFM_VECTORS(short, short, 4, 8)
__UFM_VECTORS(ushort, unsigned short, 4, 8)
__UFM_VECTORS(int, int, 8, 16)
__UFM_VECTORS(uint, unsigned int, 8, 16)
__UFM_VECTORS(long, long, 2 * sizeof(long), 16)
__UFM_VECTORS(ulong, unsigned long, 2 * sizeof(long), 16)
__UFM_VECTORS(longlong, long long, 16, 16)
__UFM_VECTORS(ulonglong, unsigned long long, 16, 16)
__UFM_VECTORS(float, float, 8, 16)
__UFM_VECTORS(double, double, 16, 16)

#define __UFM_WIDE(name, T)                                                                                            \
    struct __attribute__((__aligned__(16))) name##4_16a { T x, y, z, w; };                                             \
    struct __attribute__((__aligned__(32))) name##4_32a { T x, y, z, w; };                                             \
    static inline constexpr name##4_16a make_##name##4_16a(T x, T y, T z, T w) { return {x, y, z, w}; }                \
    static inline constexpr name##4_32a make_##name##4_32a(T x, T y, T z, T w) { return {x, y, z, w}; }
__UFM_WIDE(long, long)
__UFM_WIDE(ulong, unsigned long)
__UFM_WIDE(longlong, long long)
__UFM_WIDE(ulonglong, unsigned long long)
__UFM_WIDE(double, double)

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

/* Pitched memory, which kernels take by value. */
struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };

#endif
