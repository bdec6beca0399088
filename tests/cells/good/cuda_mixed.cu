// options: device="cpu"
// types: hashed I->I, steps ff->i, silu e->e, dot (4),(4)->() ff->f, phase F->f
// given: a, b = np.arange(8, dtype="f4").reshape(2, 4), np.ones(4, "f4")
// given: h = np.float16(1.5)
// expect: hashed(np.arange(3, dtype="u4")) == [129708002, 2831084092, 2055130248] exactly
// expect: steps(np.float32(0), np.float32(0)) == 50 exactly
// expect: steps(np.float32(2), np.float32(2)) == 1 exactly
// expect: silu(h) == h/(1 + np.exp(-h)) within 2e-3
// expect: dot(a, b) == [6, 22] exactly
// expect: phase(np.complex64(1j)) == np.pi/2 within 1e-6
#include <cuda_fp16.h>
#include <cuda/std/complex>
#include <cstdint>

// PCG's output hash (M. E. O'Neill, 2014; M. Jarzynski and M. Olano, JCGT 2020).
__device__ uint32_t hashed(uint32_t x)
{
    uint32_t state = x * 747796405u + 2891336453u;
    uint32_t word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

__device__ int steps(float re, float im)
{
    float2 z = make_float2(0.0f, 0.0f);
    int n = 0;
    while (n < 50 && z.x * z.x + z.y * z.y <= 4.0f) {
        z = make_float2(z.x * z.x - z.y * z.y + re, 2.0f * z.x * z.y + im);
        ++n;
    }
    return n;
}

__device__ __half silu(__half x) { return __float2half(__half2float(x) / (1.0f + __expf(-__half2float(x)))); }

// ufunc: (4),(4)->()
__device__ float dot(const float *a, const float *b)
{
    float4 v = make_float4(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]);
    return v.x + v.y + v.z + v.w;
}

__device__ float phase(cuda::std::complex<float> z) { return atan2f(z.imag(), z.real()); }
