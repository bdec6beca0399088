/* Thread geometry and barriers of one thread. */
#ifndef __UFM_CUDA_THREADS_H
#define __UFM_CUDA_THREADS_H
#pragma GCC system_header

static const int warpSize __attribute__((__unused__)) = 32;

/* Outside of a launch a function runs as the one thread of a one-block grid. */
static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;

/* How the thread that runs waits for the others of its block, in a launch of ours; `false` for those of its warp. */
static thread_local void (*__ufm_wait)(bool block);

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

__UFM_INLINE void __syncthreads()
{
    if (__ufm_wait)
        __ufm_wait(true);
    else if (__ufm_barrier)
        __ufm_barrier();
}
__UFM_INLINE void __syncwarp(unsigned = ~0u)
{
    if (__ufm_wait)
        __ufm_wait(false);
}
static int __ufm_votes __attribute__((__unused__));
__UFM_INLINE int __syncthreads_count(int predicate)
{
    __ufm_votes += predicate != 0;
    __syncthreads();
    int count = __ufm_votes;
    __syncthreads();
    __ufm_votes = 0;
    __syncthreads();
    return count;
}
__UFM_INLINE int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
__UFM_INLINE int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }

#endif
