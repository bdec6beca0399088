template <class __ufm_t, int __ufm_m>
struct alignas(sizeof(__ufm_t) * __ufm_m) __ufm_pack { __ufm_t __ufm_e[__ufm_m]; };
extern "C" __global__ void __launch_bounds__(${block}) ${entry}(
    ${head})
{
    long long __ufm_i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * ${pack};
    if (__ufm_i + ${pack} <= __ufm_n) {
        ${pieces}
        ${loads}
#pragma unroll
        for (int __ufm_j = 0; __ufm_j < ${pack}; __ufm_j++)
            ${packed_call}
        ${stores}
        return;
    }
#pragma unroll 1
    for (; __ufm_i < __ufm_n; __ufm_i++)
        ${call}
}
