/* The words that CUDA adds to C++. */
#ifndef __UFM_CUDA_WORDS_H
#define __UFM_CUDA_WORDS_H
#pragma GCC system_header

#include <exception>

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __nv_pure__
#define __inline_hint__
/* Empty: `inline` may stand beside the one, and the other is an attribute's name in the headers of C++. */
#define __forceinline__
#define __noinline__
#define __align__(n) __attribute__((__aligned__(n)))
#define __builtin_align__(n) __attribute__((__aligned__(n)))
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
#define __nv_assume(condition) ((void)0)
#define __assume(condition) ((void)0)

/* A block stays on one thread of the system, so that what it shares can be a static object of that thread; where threads
   of a block are threads of the system, as in a simulator, blocks run one after the other.  For `extern __shared__`, which would be
   `extern static`, the unit has `extern __dynshm__`, a word as long.  After the cell it has __UFM_DYNAMIC_SHARED(name) for
   each of these arrays: they are all one piece of memory. */
#if defined __UFM_CUDA_KERNELS__ && !defined __UFM_CUDA_PTHREADS__ && (defined __GLIBC__ || (defined __ELF__ && (defined __x86_64__ || defined __aarch64__)))
#define __UFM_FIBERS 1
#endif
/* Threads of a simulator call functions of the device, and share what those have. */
#if defined __UFM_FIBERS && !defined __UFM_CUDA_STATIC_SHARED__
#define __UFM_OWN_SHARED 1
#define __shared__ static thread_local
#define __dynshm__ __thread
#else
#define __shared__ static
#define __dynshm__
#endif
/* What a block of an H100 may have where the driver is asked, as calls from Python do; 48 kB where nobody asks. */
#define __UFM_MOST_SHARED 232448
#ifdef __UFM_CUDA_DYNAMIC_SHARED__
#define __UFM_TEXT(x) __UFM_TEXT_(x)
#define __UFM_TEXT_(x) #x
#define __UFM_DYNAMIC_SHARED_BYTES __UFM_MOST_SHARED
extern "C" {
__attribute__((__used__, __visibility__("hidden"), __aligned__(128))) __dynshm__ char
    __ufm_dynamic_shared[__UFM_DYNAMIC_SHARED_BYTES];
}
#define __UFM_DYNAMIC_SHARED(name)                                                                                     \
    __asm__(".set " __UFM_TEXT(__USER_LABEL_PREFIX__) #name                                                            \
            ", " __UFM_TEXT(__USER_LABEL_PREFIX__) "__ufm_dynamic_shared");
#endif

/* What ends a kernel on a GPU is an exception here. */
struct __ufm_device_fault : std::exception {
    char text[240];
    const char *what() const noexcept override { return text; }
};

static void __ufm_pause();
[[noreturn]] __attribute__((__cold__, noinline)) static void __ufm_fault(const char *what, const char *where,
                                                                             unsigned line)
{
    __ufm_pause();
    __ufm_device_fault fault;
    if (line)
        snprintf(fault.text, sizeof fault.text, "%s:%u: assertion `%s` failed.", where, line, what);
    else
        snprintf(fault.text, sizeof fault.text, "%s", what);
    throw fault;
}

[[noreturn]] static inline void __trap() { __ufm_fault("__trap() was called.", "", 0); }
static inline void __brkpt() {}
static inline void __assertfail(const char *what, const char *file, unsigned line, const char *, size_t)
{
    __ufm_fault(what, file, line);
}
#include "cuda/assert.h"

#endif
