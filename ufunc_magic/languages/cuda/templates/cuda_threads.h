/* Thread geometry, and how threads wait for each other. */
#ifndef __UFM_CUDA_THREADS_H
#define __UFM_CUDA_THREADS_H
#pragma GCC system_header

static const int warpSize __attribute__((__unused__)) = 32;

/* Outside of a launch a function runs as the one thread of a one-block grid. */
static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;

/* The line of the cell that calls. */
#define __UFM_HERE const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

/* Whom a thread waits for: the lanes of a mask, those that happen to come to the same line, the block, the grid. */
enum __ufm_scope { __UFM_LANES, __UFM_ACTIVE, __UFM_BLOCK, __UFM_GRID };
struct __ufm_call {
    __ufm_scope scope;
    const char *name;
    const char *file;
    unsigned line;
    unsigned mask;
    const void *value; /* what the other lanes see of this one */
    unsigned size;
};
enum { __UFM_VALUE = 32 }; /* bytes that a lane can give */
struct __ufm_lanes {
    unsigned mask; /* who has come */
    alignas(16) unsigned char value[32][__UFM_VALUE];
};
/* Waits, in a launch of ours.  What it gives is there until the thread waits again. */
static thread_local const __ufm_lanes *(*__ufm_wait)(const __ufm_call &call);

#ifdef _WIN32
#define __UFM_SHOWN __attribute__((__dllexport__))
#else
/* Weak, and not inline: an inline object would be one for all libraries of the process. */
#define __UFM_SHOWN __attribute__((__visibility__("default"), __weak__, __used__))
#endif
extern "C" {
/* Lends the barrier of a simulator whose threads are threads of the system; NULL: none. */
__UFM_SHOWN void (*__ufm_barrier)(void) = 0;
__UFM_SHOWN void __ufm_set_geometry(const unsigned thread[3], const unsigned block[3], const unsigned threads[3],
                                    const unsigned blocks[3])
{
    threadIdx = {thread[0], thread[1], thread[2]}, blockIdx = {block[0], block[1], block[2]};
    blockDim = {threads[0], threads[1], threads[2]}, gridDim = {blocks[0], blocks[1], blocks[2]};
}
}

__UFM_INLINE void __ufm_sync(const char *name, const char *file, unsigned line)
{
    if (__ufm_wait)
        __ufm_wait({__UFM_BLOCK, name, file, line, 0, 0, 0});
    else if (__ufm_barrier)
        __ufm_barrier();
}
__UFM_INLINE void __syncthreads(__UFM_HERE) { __ufm_sync("__syncthreads()", file, line); }
static int __ufm_votes __attribute__((__unused__));
__UFM_INLINE int __syncthreads_count(int predicate, __UFM_HERE)
{
    __ufm_votes += predicate != 0;
    __ufm_sync("__syncthreads_count()", file, line);
    int count = __ufm_votes;
    __ufm_sync("__syncthreads_count()", file, line);
    __ufm_votes = 0;
    __ufm_sync("__syncthreads_count()", file, line);
    return count;
}
__UFM_INLINE int __syncthreads_or(int predicate, __UFM_HERE) { return __syncthreads_count(predicate, file, line) != 0; }
__UFM_INLINE int __syncthreads_and(int predicate, __UFM_HERE)
{
    return __syncthreads_count(!predicate, file, line) == 0;
}

#endif
