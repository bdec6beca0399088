/* bfloat16 on the host. */
#ifndef __UFM_CUDA_BF16_H
#define __UFM_CUDA_BF16_H
#pragma GCC system_header

#include "../cuda_half.h"

__UFM_SMALL_TYPE(__nv_bfloat16, __nv_bfloat162, bfloat16)
__UFM_SMALL_FUNCTIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#ifdef __UFM_CUDA_WARPS_H
__UFM_SHUFFLES(__nv_bfloat16)
__UFM_SHUFFLES(__nv_bfloat162)
#endif

#endif
