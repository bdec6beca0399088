template <typename T> __device__ __forceinline__ T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
__device__ float silu(float x) { return x * sigmoid(x); }
__device__ double silu(double x) { return x * sigmoid(x); }
__device__ float silu_fast(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
