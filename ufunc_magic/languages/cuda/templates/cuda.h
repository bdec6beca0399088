/* CUDA device code on the host: everything a cell may use without an include, as C++17.
 *
 * It stands before the cell.  No header of NVIDIA's is needed, and of C++'s own only <exception>: <cmath> alone
 * would cost more than all that stands here.  `cuda/` beside it holds the headers a cell may include by name;
 * that folder goes on the include path.  `__CUDACC__` is defined, and `__CUDA_ARCH__` is not, as for nvcc's code of
 * the host.  Define before it:
 *
 *   __UFM_CUDA_KERNELS__          the cell has __global__ functions
 *   __UFM_CUDA_WARPS__            it may look at the other lanes of a warp
 *   __UFM_CUDA_GROUPS__           it uses cooperative groups
 *   __UFM_CUDA_CHECKED__          accesses of kernels are looked at
 *   __UFM_CUDA_DYNAMIC_SHARED__   it has `extern __shared__` arrays; see cuda_words.h
 */
#ifndef __UFM_CUDA_H
#define __UFM_CUDA_H
#pragma GCC system_header

#define __UFM_CUDA_EMULATION__ 1
#define __NVCC__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__

#include "cuda_libc.h"
#include "cuda_words.h"
#include "cuda_types.h"
#include "cuda_math.h"
#include "cuda_special.h"
#include "cuda_fast.h"
#include "cuda_convert.h"
#include "cuda_bits.h"
#include "cuda_packed.h"
#include "cuda_threads.h"
#include "cuda_memory.h"
#ifdef __UFM_CUDA_WARPS__
#include "cuda_warps.h"
#endif
#ifdef __UFM_CUDA_KERNELS__
#include "cuda_launch.h"
#include "cuda_loops.h"
#endif
#ifdef __UFM_CUDA_KERNELS__
static void __ufm_pause() { __UFM_LOOKING(false); }

/* What blocks print comes in their order.  A macro, which <cstdio> would take back. */
#include <cstdio>
#include <stdarg.h>
static __attribute__((__unused__, __format__(__printf__, 1, 2))) int __ufm_printf(const char *format, ...)
{
    va_list values;
    __ufm_before(0);
    __ufm_now.atomic = false;
    __UFM_LOOKING(false);
    va_start(values, format);
    const int count = vprintf(format, values);
    va_end(values);
    __UFM_LOOKING(__ufm_wait != 0);
    return count;
}
namespace std { using ::__ufm_printf; }
#define printf(...) __ufm_printf(__VA_ARGS__)
#else
static void __ufm_pause() {}
static void __ufm_take_turn(const void *) {}
#endif
#ifdef __UFM_CUDA_GROUPS__
#include "cuda/cooperative_groups.h"
#endif
#include "cuda_refused.h"

#endif
