/* Blocks as loops over their threads: what thread_loops.py writes kernels with. */
#ifndef __UFM_CUDA_LOOPS_H
#define __UFM_CUDA_LOOPS_H
#pragma GCC system_header

#define __UFM_BLOCK_OFFERED __builtin_expect(__ufm_whole.offered, false)
/* The compiler says of the first body what there is to say. */
#define __UFM_WITHOUT(warning) _Pragma(warning)
#ifdef __clang__
#define __UFM_QUIET _Pragma("clang diagnostic ignored \"-Weverything\"")
#else
#define __UFM_QUIET                                                                                                    \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wunused\"")                                                               \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wunused-variable\"")                                                      \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wunused-but-set-variable\"")                                              \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wunused-value\"")                                                         \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wuninitialized\"")                                                        \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wmaybe-uninitialized\"")                                                  \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wsign-compare\"")                                                         \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wparentheses\"")                                                          \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wdangling-else\"")                                                        \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wmisleading-indentation\"")                                               \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Warray-bounds\"")                                                         \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wstringop-overflow\"")                                                    \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Waggressive-loop-optimizations\"")                                        \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Wdiv-by-zero\"")                                                          \
    __UFM_WITHOUT("GCC diagnostic ignored \"-Woverflow\"")
#endif
#define __UFM_BLOCK_END _Pragma("GCC diagnostic pop")
/* Copies, because stores to memory could change what others see. */
#define __UFM_BLOCK_BEGIN                                                                                              \
    _Pragma("GCC diagnostic push") __UFM_QUIET                                                                         \
    __ufm_whole = {false, true};                                                                                       \
    const uint3 blockIdx __attribute__((__unused__)) = ::blockIdx;                                                     \
    const dim3 blockDim = ::blockDim, gridDim __attribute__((__unused__)) = ::gridDim;                                 \
    const unsigned __ufm_n __attribute__((__unused__)) = blockDim.x * blockDim.y * blockDim.z
/* Threads do not depend on each other between waits; where they do, it is a race. */
#ifdef __clang__
#define __UFM_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define __UFM_IVDEP _Pragma("GCC ivdep")
#endif
#define __UFM_THREADS(how)                                                                                             \
    for (unsigned __ufm_z = 0, __ufm_row = 0; __ufm_z < blockDim.z; __ufm_z++)                                         \
        for (unsigned __ufm_y = 0; __ufm_y < blockDim.y; __ufm_y++, __ufm_row += blockDim.x)                           \
            how for (unsigned __ufm_x = 0; __ufm_x < blockDim.x; __ufm_x++)
#define __UFM_THREAD                                                                                                   \
    const uint3 threadIdx __attribute__((__unused__)) = {__ufm_x, __ufm_y, __ufm_z};                                   \
    const unsigned __ufm_t __attribute__((__unused__)) = __ufm_row + __ufm_x

template <class T> struct __ufm_bare_of { typedef T type; };
template <class T> struct __ufm_bare_of<const T> { typedef T type; };
template <class T> struct __ufm_bare_of<T &> : __ufm_bare_of<T> {};
template <class T, size_t N> struct __ufm_bare_of<const T[N]> { typedef typename __ufm_bare_of<T[N]>::type type; };
template <class T, size_t N> struct __ufm_bare_of<T[N]> { typedef typename __ufm_bare_of<T>::type type[N]; };
template <class T> using __ufm_plain = typename __ufm_bare_of<T>::type;
template <class T> T __ufm_by_value(T);

__UFM_INLINE bool __ufm_some(const bool *mask, unsigned count)
{
    bool any = false;
    for (unsigned k = 0; k < count; k++)
        any |= mask[k];
    return any;
}

/* What the threads give and read in the next loop; those that are not there give zeros.  See cuda_warps.h. */
template <class T> struct __ufm_given {
    T values[32 + 1024 + 32];
    unsigned ballot[32], lanes[32];
    void give(unsigned t, T value) { values[32 + t] = value; }
    void end(unsigned count)
    {
        for (unsigned k = 0; k < 32; k++)
            values[32 + count + k] = T();
    }
    /* The instruction's own rule (PTX, shfl.sync). */
    static int last(unsigned t, int width) { return (int)((t & 31 & (32 - (unsigned)width)) | (~(32 - (unsigned)width) & 31)); }
    T down(unsigned t, unsigned by, int width = 32) const
    {
        const unsigned b = by & 31;
        const T other = values[32 + t + b], own = values[32 + t];
        return (int)((t & 31) + b) > last(t, width) ? own : other;
    }
    T up(unsigned t, unsigned by, int width = 32) const
    {
        const unsigned b = by & 31;
        const T other = values[32 + t - b], own = values[32 + t];
        return (int)((t & 31) - b) < (int)(t & 31 & (32 - (unsigned)width)) ? own : other;
    }
    T across(unsigned t, int by, int width = 32) const
    {
        const unsigned b = (unsigned)by & 31;
        const T other = values[32 + (t ^ b)], own = values[32 + t];
        return (int)((t & 31) ^ b) > last(t, width) ? own : other;
    }
    T at(unsigned t, int lane, int width = 32) const
    {
        const unsigned segment = (32 - (unsigned)width) & 31;
        return values[32 + (t & ~31u) + ((t & 31 & segment) | ((unsigned)lane & 31 & ~segment))];
    }
    void vote(unsigned count)
    {
        for (unsigned k = 0; k < (count + 31) / 32; k++) {
            unsigned votes = 0, there = 0;
            for (unsigned lane = 0; lane < 32; lane++)
                votes |= (unsigned)(values[32 + 32 * k + lane] & 1) << lane, there |= (unsigned)(values[32 + 32 * k + lane] >> 1) << lane;
            ballot[k] = votes, lanes[k] = there;
        }
    }
    unsigned votes(unsigned t) const { return ballot[t / 32]; }
    int any(unsigned t) const { return ballot[t / 32] != 0; }
    int all(unsigned t) const { return ballot[t / 32] == lanes[t / 32]; }
};

#endif
