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

/* Whom a thread waits for: the lanes of a mask, those that happen to come to the same line, anybody who changes what it
   looks at, the block, the grid. */
enum __ufm_scope { __UFM_LANES, __UFM_ACTIVE, __UFM_LOOK, __UFM_BLOCK, __UFM_GRID };
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
/* How often the running thread has met memory that others see since it let them go on, one that changes nothing for many;
   how often in a row it has changed nothing; whether blocks before its own may be under way. */
struct __ufm_pace {
    unsigned tired, idle;
    bool early, atomic; /* in an atomic, whose accesses are no race */
};
static thread_local __ufm_pace __ufm_now;
/* Waits, in a launch of ours.  What it gives is there until the thread waits again. */
static thread_local const __ufm_lanes *(*__ufm_wait)(const __ufm_call &call);

enum { __UFM_PATIENCE = 64 }; /* looks in vain until others go on */
static void __ufm_take_turn(const void *at);
/* Before and after a step that other threads may see or wait for. */
__UFM_INLINE void __ufm_before(const void *at)
{
    if (__builtin_expect(__ufm_now.early, false))
        __ufm_take_turn(at);
#ifdef __UFM_CUDA_CHECKED__
    __ufm_now.atomic = true;
#endif
}
__attribute__((noinline)) static void __ufm_rest(const char *name, const char *file, unsigned line)
{
    if (__ufm_now.idle < __UFM_PATIENCE)
        __ufm_now.tired = 0;
    if (__ufm_wait)
        __ufm_wait({__UFM_LOOK, name, file, line, 0, 0, 0});
}
__UFM_INLINE void __ufm_after(bool changed, const char *name, const char *file, unsigned line)
{
    __ufm_pace *now = &__ufm_now;
#ifdef __UFM_CUDA_CHECKED__
    now->atomic = false;
#endif
    now->idle = changed ? 0 : now->idle + 1, now->tired += changed ? 1 : __UFM_PATIENCE;
    if (__builtin_expect(now->tired >= __UFM_PATIENCE * __UFM_PATIENCE, false))
        __ufm_rest(name, file, line);
}
/* In loops of cells with `volatile` memory; see cuda_edits.py.  `pure`: the loop does nothing but look. */
__UFM_INLINE void __ufm_poll(bool pure, __UFM_HERE)
{
    __ufm_before(0);
    __ufm_now.idle -= !pure && __ufm_now.idle;
    __ufm_after(false, "this loop", file, line);
}

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
__shared__ int __ufm_votes __attribute__((__unused__));
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
