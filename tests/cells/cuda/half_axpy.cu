#include <cuda_fp16.h>

__device__ __half half_axpy(__half a, __half x, __half y) { return __hfma(a, x, y); }
__device__ float half_pair(float x, float y)
{
    __half2 v = __hmul2(__floats2half2_rn(x, y), __float2half2_rn(0.5f));
    return __low2float(v) + __high2float(v);
}
