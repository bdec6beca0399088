/* NVIDIA's own, where it is installed: it has code for the host too, which declares what is here already. */
#pragma once
#pragma GCC system_header
typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
#ifndef __UFM_CUDA_HOST_H
typedef struct CUstream_st *cudaStream_t;
#endif
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#define blockDim __ufm_curand_block
#define threadIdx __ufm_curand_thread
#include_next <curand_kernel.h>
#undef blockDim
#undef threadIdx
