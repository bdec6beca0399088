template <class __ufm_t, int __ufm_m>
struct alignas(sizeof(__ufm_t) * __ufm_m) __ufm_pack { __ufm_t __ufm_e[__ufm_m]; };
struct __ufm_box {
    long long __ufm_outer, __ufm_inner, __ufm_slice, __ufm_lanes, __ufm_along;
    long long __ufm_outer_stride[${outer}], __ufm_inner_stride[${inner}];
    long long __ufm_outer_size[${outer}], __ufm_inner_size[${inner}];
};

static __device__ __forceinline__ ${value} __ufm_join(${first} __ufm_x0, ${second} __ufm_x1)
{
    ${value} __ufm_y0{};
    ${call};
    return __ufm_y0;
}

static __device__ __forceinline__ ${element} __ufm_load(
    const char *__ufm_in, long long __ufm_i, const __ufm_box &__ufm_b)
{
    ${inner_places}
    ${loaded}
}

extern "C" __global__ void __launch_bounds__(${block}) ${entry}(
    const char *__ufm_in,
    ${value} *__ufm_out,
    ${start}const __ufm_box __ufm_b)
{
    __shared__ ${value} __ufm_part[${block}];
    const int __ufm_t = threadIdx.x, __ufm_lanes = (int)__ufm_b.__ufm_lanes, __ufm_rows = ${block} / __ufm_lanes;
    const int __ufm_lane = __ufm_b.__ufm_along ? __ufm_t % __ufm_lanes : __ufm_t / __ufm_rows;
    const int __ufm_row = __ufm_b.__ufm_along ? __ufm_t / __ufm_lanes : __ufm_t % __ufm_rows;
    const int __ufm_step = __ufm_b.__ufm_along ? 1 : __ufm_rows;
    const long long __ufm_result = blockIdx.x * (long long)__ufm_rows + __ufm_row;
    const bool __ufm_used = __ufm_result < __ufm_b.__ufm_outer;
    const long long __ufm_first = blockIdx.y * __ufm_b.__ufm_slice;
    long long __ufm_end = __ufm_first + __ufm_b.__ufm_slice;
    if (__ufm_end > __ufm_b.__ufm_inner) __ufm_end = __ufm_b.__ufm_inner;
    int __ufm_live = __ufm_end - __ufm_first < __ufm_lanes ? (int)(__ufm_end - __ufm_first) : __ufm_lanes;
    ${value} __ufm_all{};
    if (__ufm_used && __ufm_lane < __ufm_live) {
        long long __ufm_i = __ufm_result;
        ${outer_places}
        __ufm_i = __ufm_first + __ufm_lane;
        __ufm_all = ${cast}__ufm_load(__ufm_in, __ufm_i, __ufm_b);
        // Several loads are on their way at once.
        __ufm_i += __ufm_lanes;
        for (; __ufm_i + ${at_once_but_one} * __ufm_lanes < __ufm_end; __ufm_i += ${at_once} * __ufm_lanes) {
            ${loads}
            ${joins}
        }
        for (; __ufm_i < __ufm_end; __ufm_i += __ufm_lanes) {
            ${join}
        }
    }
    __ufm_part[__ufm_t] = __ufm_all;
    __syncthreads();
    while (__ufm_live > 1) {
        const int __ufm_half = (__ufm_live + 1) / 2;
        if (__ufm_used && __ufm_lane + __ufm_half < __ufm_live)
            __ufm_part[__ufm_t] = __ufm_join(__ufm_part[__ufm_t], __ufm_part[__ufm_t + __ufm_half * __ufm_step]);
        __syncthreads();
        __ufm_live = __ufm_half;
    }
    if (__ufm_used && __ufm_lane == 0) {
        __ufm_all = __ufm_part[__ufm_t];
        __ufm_out[__ufm_result * gridDim.y + blockIdx.y] = ${whole};
    }
}
