// options: device="cpu", types="f4,f8"
// types: call fffff->f ddddd->d, both fffff->ff ddddd->dd
// given: s, k = np.array([90.0, 100, 110]), np.array([100.0, 100, 100])
// given: c, p = both(s, k, 1.0, 0.05, 0.2)
// expect: call(s, k, 1.0, 0.05, 0.2) == [5.0912222, 10.4505836, 17.6629536] within 1e-7
// expect: c - p == s - k*np.exp(-0.05) within 1e-12 or 1e-12
// expect: call(s.astype("f4"), 100, 1, np.float32(0.05), np.float32(0.2)) == c within 1e-5
#define SQRT_HALF T(0.70710678118654752)
static __device__ __forceinline__ T normal(T x) { return T(0.5) * erfc(-x * SQRT_HALF); }

static __device__ T first(T s, T k, T t, T r, T v) { return (log(s / k) + (r + T(0.5) * v * v) * t) / (v * sqrt(t)); }

__device__ T call(T s, T k, T t, T r, T v)
{
    const T d = first(s, k, t, r, v);
    return s * normal(d) - k * exp(-r * t) * normal(d - v * sqrt(t));
}

__device__ void both(T s, T k, T t, T r, T v, T *bought, T *sold)
{
    *bought = call(s, k, t, r, v);
    *sold = *bought - s + k * exp(-r * t);
}
