/* Groups of threads that wait for each other and exchange values: those of CUDA's header, but for clusters, grids of
   several devices and copies in the background. */
#ifndef __UFM_COOPERATIVE_GROUPS_H
#define __UFM_COOPERATIVE_GROUPS_H
#pragma GCC system_header

#include "../cuda_warps.h"

namespace cooperative_groups {

/* Place of a thread in a box, and how many it holds. */
__UFM_INLINE unsigned __ufm_rank(uint3 at, dim3 size) { return at.x + size.x * (at.y + size.y * at.z); }
__UFM_INLINE unsigned __ufm_count(dim3 size) { return size.x * size.y * size.z; }

/* The block where mask is 0, else lanes of a warp. */
struct thread_group {
    unsigned __ufm_mask;

    void sync(__UFM_HERE) const
    {
        if (__ufm_mask)
            __syncwarp(__ufm_mask, file, line);
        else
            __ufm_sync("sync()", file, line);
    }
    unsigned num_threads() const { return __ufm_mask ? (unsigned)__popc((int)__ufm_mask) : __ufm_count(blockDim); }
    unsigned long long size() const { return num_threads(); }
    unsigned thread_rank() const
    {
        return __ufm_mask ? (unsigned)__popc(__ufm_mask & ((1u << __ufm_lane()) - 1)) : __ufm_rank(threadIdx, blockDim);
    }
    bool is_valid() const { return true; }
};

struct thread_block : thread_group {
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
__UFM_INLINE thread_block this_thread_block() { return thread_block{{0}}; }

struct grid_group {
    void sync(__UFM_HERE) const
    {
        if (__ufm_wait)
            __ufm_wait({__UFM_GRID, "grid.sync()", file, line, 0, 0, 0});
    }
    bool is_valid() const { return true; }
    static unsigned long long block_rank() { return __ufm_rank(blockIdx, gridDim); }
    static unsigned long long num_blocks() { return __ufm_count(gridDim); }
    static unsigned long long num_threads() { return num_blocks() * __ufm_count(blockDim); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long thread_rank() { return block_rank() * __ufm_count(blockDim) + __ufm_rank(threadIdx, blockDim); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
};
__UFM_INLINE grid_group this_grid() { return {}; }

/* Lanes by their ranks in the group. */
struct __ufm_lane_group : thread_group {
    unsigned __ufm_of_rank(unsigned rank) const { return __fns(__ufm_mask, 0, (int)rank + 1) & 31; }
    template <class T> T __ufm_read(const char *name, const T &value, unsigned rank, const char *file, unsigned line) const
    {
        return __ufm_of<T>(__ufm_give(name, __ufm_mask, value, file, line), __ufm_of_rank(rank));
    }
    /* A mask of lanes as one of ranks. */
    unsigned __ufm_ranks(unsigned lanes) const
    {
        unsigned result = 0, rank = 0;
        for (unsigned rest = __ufm_mask; rest; rest &= rest - 1)
            result |= (lanes >> __builtin_ctz(rest) & 1) << rank++;
        return result;
    }

    template <class T> T shfl(T value, int rank, __UFM_HERE) const
    {
        return __ufm_read("shfl", value, (unsigned)rank % num_threads(), file, line);
    }
    template <class T> T shfl_up(T value, unsigned by, __UFM_HERE) const
    {
        const unsigned rank = thread_rank();
        return __ufm_read("shfl_up", value, by > rank ? rank : rank - by, file, line);
    }
    template <class T> T shfl_down(T value, unsigned by, __UFM_HERE) const
    {
        const unsigned rank = thread_rank();
        return __ufm_read("shfl_down", value, rank + by < num_threads() ? rank + by : rank, file, line);
    }
    int any(int predicate, __UFM_HERE) const { return __any_sync(__ufm_mask, predicate, file, line); }
    int all(int predicate, __UFM_HERE) const { return __all_sync(__ufm_mask, predicate, file, line); }
    unsigned ballot(int predicate, __UFM_HERE) const
    {
        return __ufm_ranks(__ballot_sync(__ufm_mask, predicate, file, line));
    }
    template <class T> unsigned match_any(T value, __UFM_HERE) const
    {
        return __ufm_ranks(__match_any_sync(__ufm_mask, value, file, line));
    }
    template <class T> unsigned match_all(T value, int &pred, __UFM_HERE) const
    {
        return __ufm_ranks(__match_all_sync(__ufm_mask, value, &pred, file, line));
    }
};

struct coalesced_group : __ufm_lane_group {
    unsigned __ufm_number, __ufm_groups;
    unsigned meta_group_rank() const { return __ufm_number; }
    unsigned meta_group_size() const { return __ufm_groups; }
};
__UFM_INLINE coalesced_group __ufm_some(unsigned mask, unsigned number = 0, unsigned groups = 1)
{
    coalesced_group group;
    group.__ufm_mask = mask, group.__ufm_number = number, group.__ufm_groups = groups;
    return group;
}
__UFM_INLINE coalesced_group coalesced_threads(__UFM_HERE) { return __ufm_some(__activemask(file, line)); }

template <unsigned N, class Parent = void> struct thread_block_tile : __ufm_lane_group {
    static_assert(N && N <= 32 && !(N & (N - 1)), "the CPU emulation has tiles of 1, 2, 4, 8, 16 or 32 threads");
    thread_block_tile() { __ufm_mask = (N == 32 ? ~0u : (1u << N) - 1) << (__ufm_lane() & ~(N - 1) & 31); }
    template <class Other> thread_block_tile(const thread_block_tile<N, Other> &) : thread_block_tile() {}
    static constexpr unsigned num_threads() { return N; }
    static constexpr unsigned long long size() { return N; }
    static unsigned thread_rank() { return __ufm_lane() % N; }
    static unsigned meta_group_rank() { return __ufm_rank(threadIdx, blockDim) / N; }
    static unsigned meta_group_size() { return (__ufm_count(blockDim) + N - 1) / N; }
    template <class T> T shfl_xor(T value, unsigned by, __UFM_HERE) const
    {
        return __ufm_read("shfl_xor", value, (thread_rank() ^ by) % N, file, line);
    }
};

template <unsigned N> __UFM_INLINE thread_block_tile<N, thread_block> tiled_partition(const thread_block &) { return {}; }
template <unsigned N> __UFM_INLINE thread_block_tile<N> tiled_partition(const thread_group &) { return {}; }
template <unsigned N, unsigned M, class P>
__UFM_INLINE thread_block_tile<N, thread_block_tile<M, P>> tiled_partition(const thread_block_tile<M, P> &)
{
    static_assert(N <= M, "a tile is no larger than what it is a part of");
    return {};
}
__UFM_INLINE thread_group tiled_partition(const thread_group &group, unsigned size)
{
    const unsigned rank = group.thread_rank() / size * size;
    unsigned mask = 0, lanes = group.__ufm_mask ? group.__ufm_mask : ~0u;
    if (!group.__ufm_mask)
        return thread_group{(size >= 32 ? ~0u : (1u << size) - 1) << (rank & 31)};
    for (unsigned k = 0; lanes; lanes &= lanes - 1, k++)
        mask |= (k >= rank && k < rank + size) ? lanes & -lanes : 0;
    return thread_group{mask};
}
/* Those with the same label. */
template <class Group> __UFM_INLINE coalesced_group labeled_partition(const Group &group, int label, __UFM_HERE)
{
    unsigned same = __match_any_sync(group.__ufm_mask, label, file, line), number = 0, groups = 0, known = 0;
    const __ufm_lanes *labels = __ufm_give("labeled_partition", group.__ufm_mask, same, file, line);
    for (unsigned k = 0; k < 32; k++)
        if (!(known >> k & 1) && (labels->mask >> k & 1)) {
            const unsigned one = __ufm_of<unsigned>(labels, k);
            number = one == same ? groups : number;
            known |= one, groups++;
        }
    return __ufm_some(same, number, groups);
}
template <class Group> __UFM_INLINE coalesced_group binary_partition(const Group &group, bool predicate, __UFM_HERE)
{
    return labeled_partition(group, predicate, file, line);
}

template <class Group> __UFM_INLINE void sync(const Group &group, __UFM_HERE) { group.sync(file, line); }
template <class Group> __UFM_INLINE unsigned thread_rank(const Group &group) { return (unsigned)group.thread_rank(); }
template <class Group> __UFM_INLINE unsigned group_size(const Group &group) { return (unsigned)group.size(); }
template <class Group, class F> __UFM_INLINE void invoke_one(const Group &group, F &&f)
{
    if (group.thread_rank() == 0)
        f();
}

#define __UFM_OPERATION(name, result)                                                                                  \
    template <class T = void> struct name {                                                                            \
        T operator()(T a, T b) const { return result; }                                                                \
    };                                                                                                                 \
    template <> struct name<void> {                                                                                    \
        template <class T> T operator()(T a, T b) const { return result; }                                             \
    };
__UFM_OPERATION(plus, a + b)
__UFM_OPERATION(less, b < a ? b : a)
__UFM_OPERATION(greater, a < b ? b : a)
__UFM_OPERATION(bit_and, a &b)
__UFM_OPERATION(bit_or, a | b)
__UFM_OPERATION(bit_xor, a ^ b)

/* <cooperative_groups/reduce.h> and scan.h: of all, of those up to this rank, of those before it. */
template <class Group, class T, class Op>
__UFM_INLINE T __ufm_fold(const char *name, const Group &group, const T &value, Op op, unsigned ranks, const char *file,
                          unsigned line)
{
    const __ufm_lanes *lanes = __ufm_give(name, group.__ufm_mask, value, file, line);
    bool any = false;
    T all = {};
    for (unsigned rest = lanes->mask; rest && ranks; rest &= rest - 1, ranks--) {
        const T one = __ufm_of<T>(lanes, (unsigned)__builtin_ctz(rest));
        all = any ? op(all, one) : one;
        any = true;
    }
    return all;
}
template <class Group, class T, class Op> __UFM_INLINE T reduce(const Group &group, T value, Op op, __UFM_HERE)
{
    return __ufm_fold("reduce", group, value, op, 32, file, line);
}
template <class Group, class T, class Op> __UFM_INLINE T inclusive_scan(const Group &group, T value, Op op, __UFM_HERE)
{
    return __ufm_fold("inclusive_scan", group, value, op, group.thread_rank() + 1, file, line);
}
template <class Group, class T, class Op> __UFM_INLINE T exclusive_scan(const Group &group, T value, Op op, __UFM_HERE)
{
    return __ufm_fold("exclusive_scan", group, value, op, group.thread_rank(), file, line);
}
template <class Group, class T> __UFM_INLINE T inclusive_scan(const Group &group, T value, __UFM_HERE)
{
    return inclusive_scan(group, value, plus<T>(), file, line);
}
template <class Group, class T> __UFM_INLINE T exclusive_scan(const Group &group, T value, __UFM_HERE)
{
    return exclusive_scan(group, value, plus<T>(), file, line);
}

}

#endif
