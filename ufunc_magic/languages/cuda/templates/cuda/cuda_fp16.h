/* half and half2 on the host. */
#ifndef __UFM_CUDA_FP16_H
#define __UFM_CUDA_FP16_H
#pragma GCC system_header

#include "../cuda_half.h"

__UFM_SMALL_TYPE(__half, __half2, half)
__UFM_SMALL_FUNCTIONS(__half, __half2, half, half2)
#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
#endif
#ifdef __UFM_CUDA_WARPS_H
__UFM_SHUFFLES(__half)
__UFM_SHUFFLES(__half2)
#endif
/* NumPy's float16 in the table of types. */
#define __UFM_DEVICE_HALF __half

#endif
