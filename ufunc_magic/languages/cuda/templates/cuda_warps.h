/* What the lanes of a warp give each other: shuffles, votes, matches, reductions.
 *
 * A call waits until the lanes that its mask names have come, but for those that have returned, and then reads what they
 * gave.  A lane that is not among them gives zeros: CUDA leaves that open, and NVIDIA's own reductions read such lanes.
 */
#ifndef __UFM_CUDA_WARPS_H
#define __UFM_CUDA_WARPS_H
#pragma GCC system_header

__UFM_INLINE unsigned __ufm_lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

static const __ufm_lanes *__ufm_exchange(const __ufm_call &call)
{
    if (__ufm_wait)
        return __ufm_wait(call);
    if (__ufm_barrier)
        __ufm_fault("a simulator's threads have no warps.", "", 0);
    static thread_local __ufm_lanes alone; /* outside of a launch */
    alone.mask = 1u << __ufm_lane();
    memcpy(alone.value[__ufm_lane()], call.value, call.size);
    return &alone;
}
template <class T> __UFM_INLINE T __ufm_of(const __ufm_lanes *lanes, unsigned lane)
{
    static_assert(sizeof(T) <= __UFM_VALUE && __is_trivially_copyable(T), "lanes exchange plain values of up to 32 bytes");
    alignas(T) unsigned char bytes[sizeof(T)] = {};
    if (lanes->mask >> lane & 1)
        memcpy(bytes, lanes->value[lane], sizeof(T));
    return *(T *)bytes;
}
template <class T>
__UFM_INLINE const __ufm_lanes *__ufm_give(const char *name, unsigned mask, const T &value, const char *file, unsigned line)
{
    return __ufm_exchange({__UFM_LANES, name, file, line, mask, &value, sizeof value});
}

__UFM_INLINE void __syncwarp(unsigned mask = ~0u, __UFM_HERE)
{
    if (__ufm_wait)
        __ufm_wait({__UFM_LANES, "__syncwarp", file, line, mask, "", 0});
}
/* The lanes of the warp that come to the same line together. */
__UFM_INLINE unsigned __activemask(__UFM_HERE)
{
    return __ufm_exchange({__UFM_ACTIVE, "__activemask", file, line, 0, "", 0})->mask;
}

/* Which lane to read: the instruction's own rule (PTX, shfl.sync). */
__UFM_INLINE unsigned __ufm_source(char mode, unsigned by, int width)
{
    const int lane = (int)__ufm_lane(), segment = (32 - width) & 31, first = lane & segment, b = (int)(by & 31);
    const int last = first | (~segment & 31);
    int from = mode == 'u' ? lane - b : mode == 'd' ? lane + b : mode == 'x' ? lane ^ b : first | (b & ~segment);
    return (unsigned)((mode == 'u' ? from < first : from > last) ? lane : from);
}
#define __UFM_SHUFFLE(name, mode, T, By)                                                                               \
    __UFM_INLINE T name(unsigned mask, T value, By by, int width = 32, __UFM_HERE)                                     \
    {                                                                                                                  \
        return __ufm_of<T>(__ufm_give(#name, mask, value, file, line), __ufm_source(mode, (unsigned)by, width));       \
    }
#define __UFM_SHUFFLES(T)                                                                                              \
    __UFM_SHUFFLE(__shfl_sync, 'i', T, int)                                                                            \
    __UFM_SHUFFLE(__shfl_up_sync, 'u', T, unsigned)                                                                    \
    __UFM_SHUFFLE(__shfl_down_sync, 'd', T, unsigned)                                                                  \
    __UFM_SHUFFLE(__shfl_xor_sync, 'x', T, int)
__UFM_SHUFFLES(int)
__UFM_SHUFFLES(unsigned)
__UFM_SHUFFLES(long)
__UFM_SHUFFLES(unsigned long)
__UFM_SHUFFLES(long long)
__UFM_SHUFFLES(unsigned long long)
__UFM_SHUFFLES(float)
__UFM_SHUFFLES(double)

/* Who has come, and who of them with a predicate that holds. */
struct __ufm_ballot { unsigned lanes, votes; };
__UFM_INLINE __ufm_ballot __ufm_vote(const char *name, unsigned mask, int predicate, const char *file, unsigned line)
{
    const __ufm_lanes *lanes = __ufm_give(name, mask, predicate, file, line);
    __ufm_ballot result = {lanes->mask, 0};
    for (unsigned k = 0; k < 32; k++)
        result.votes |= (unsigned)(__ufm_of<int>(lanes, k) != 0) << k;
    return result;
}
#define __UFM_VOTE(name, T, result)                                                                                    \
    __UFM_INLINE T name(unsigned mask, int predicate, __UFM_HERE)                                                      \
    {                                                                                                                  \
        const __ufm_ballot all = __ufm_vote(#name, mask, predicate, file, line);                                       \
        return (T)(result);                                                                                            \
    }
__UFM_VOTE(__ballot_sync, unsigned, all.votes)
__UFM_VOTE(__any_sync, int, all.votes != 0)
__UFM_VOTE(__all_sync, int, all.votes == all.lanes)
__UFM_VOTE(__uni_sync, int, all.votes == 0 || all.votes == all.lanes)

/* The lanes of the same bits. */
template <class T>
__UFM_INLINE unsigned __match_any_sync(unsigned mask, T value, __UFM_HERE)
{
    const __ufm_lanes *lanes = __ufm_give("__match_any_sync", mask, value, file, line);
    unsigned equal = 0;
    for (unsigned k = 0; k < 32; k++)
        if (lanes->mask >> k & 1)
            equal |= (unsigned)!memcmp(lanes->value[k], &value, sizeof value) << k;
    return equal;
}
template <class T>
__UFM_INLINE unsigned __match_all_sync(unsigned mask, T value, int *pred, __UFM_HERE)
{
    const __ufm_lanes *lanes = __ufm_give("__match_all_sync", mask, value, file, line);
    *pred = 1;
    for (unsigned k = 0; k < 32; k++)
        if (lanes->mask >> k & 1)
            *pred &= !memcmp(lanes->value[k], &value, sizeof value);
    return *pred ? lanes->mask : 0;
}

#define __UFM_REDUCE(name, T, joined)                                                                                  \
    __UFM_INLINE T name(unsigned mask, T value, __UFM_HERE)                                                            \
    {                                                                                                                  \
        const __ufm_lanes *lanes = __ufm_give(#name, mask, value, file, line);                                         \
        const unsigned first = (unsigned)__builtin_ctz(lanes->mask);                                                   \
        T all = __ufm_of<T>(lanes, first);                                                                             \
        for (unsigned k = first + 1; k < 32; k++)                                                                      \
            if (lanes->mask >> k & 1) {                                                                                \
                const T one = __ufm_of<T>(lanes, k);                                                                   \
                all = (T)(joined);                                                                                     \
            }                                                                                                          \
        return all;                                                                                                    \
    }
__UFM_REDUCE(__reduce_add_sync, unsigned, all + one)
__UFM_REDUCE(__reduce_add_sync, int, (unsigned)all + (unsigned)one)
__UFM_REDUCE(__reduce_min_sync, unsigned, one < all ? one : all)
__UFM_REDUCE(__reduce_min_sync, int, one < all ? one : all)
__UFM_REDUCE(__reduce_max_sync, unsigned, one > all ? one : all)
__UFM_REDUCE(__reduce_max_sync, int, one > all ? one : all)
__UFM_REDUCE(__reduce_and_sync, unsigned, all & one)
__UFM_REDUCE(__reduce_or_sync, unsigned, all | one)
__UFM_REDUCE(__reduce_xor_sync, unsigned, all ^ one)

#endif
