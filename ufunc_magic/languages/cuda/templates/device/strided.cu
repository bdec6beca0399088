struct __ufm_box {
    long long __ufm_count, __ufm_stride[${arrays}][${ndim}];
    ${index} __ufm_size[${ndim}];
};

extern "C" __global__ void __launch_bounds__(${block}) ${entry}(
    ${head})
{
    ${index} __ufm_i = (${index})blockIdx.x * blockDim.x + threadIdx.x;
    if (__ufm_i >= __ufm_b.__ufm_count) return;
#pragma unroll
    for (int __ufm_d = ${last_axis}; __ufm_d > 0; __ufm_d--) {
        const long long __ufm_k = __ufm_i % __ufm_b.__ufm_size[__ufm_d];
        __ufm_i /= __ufm_b.__ufm_size[__ufm_d];
        ${steps}
    }
    ${last}
    ${mask}
    ${call}
}
