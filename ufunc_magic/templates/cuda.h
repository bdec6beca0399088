/* CUDA device code on the host: everything a cell may use without an include, as C++17.
 *
 * It stands before the cell.  No header of NVIDIA's is needed, and of C++'s own only <exception>: <cmath> alone
 * would cost more than all that stands here.  `cuda/` beside it holds the headers a cell may include by name;
 * that folder goes on the include path.  `__CUDA_ARCH__` stays undefined.  Define before it:
 *
 *   __UFM_CUDA_KERNELS__          the cell has __global__ functions
 *   __UFM_CUDA_DYNAMIC_SHARED__   it has `extern __shared__` arrays; see cuda_words.h
 */
#ifndef __UFM_CUDA_H
#define __UFM_CUDA_H
#pragma GCC system_header

#define __UFM_CUDA_EMULATION__ 1

#include "cuda_libc.h"
#include "cuda_words.h"
#include "cuda_types.h"
#include "cuda_math.h"
#include "cuda_special.h"
#include "cuda_fast.h"
#include "cuda_convert.h"
#include "cuda_bits.h"
#include "cuda_packed.h"
#include "cuda_memory.h"
#include "cuda_threads.h"
#ifdef __UFM_CUDA_KERNELS__
#include "cuda_launch.h"
#endif
#include "cuda_refused.h"

#endif
