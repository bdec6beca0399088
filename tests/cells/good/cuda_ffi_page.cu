// options: device="cpu"
// types: mul_f32_f32 ff->f, mul ff->f dd->d
// given: data = np.arange(5, dtype="f4")
// expect: mul_f32_f32(data, np.float32(2)) == 2*data exactly
// expect: mul(data, data) == data*data exactly
// expect: mul(1.5, data.astype("f8")) == 1.5*data exactly
// expect: sum_reduce(data, 5) == 10.0 exactly
// The two functions of the page on foreign functions of numba-cuda's documentation, in this cell's own words.
extern "C" __device__ int mul_f32_f32(float *return_value, float x, float y)
{
    *return_value = x * y;
    return 0;
}

extern "C" __device__ int sum_reduce(float *return_value, const float *array, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += array[i];
    *return_value = sum;
    return 0;
}

__device__ float mul(float x, float y) { return x * y; }
__device__ double mul(double x, double y) { return x * y; }
