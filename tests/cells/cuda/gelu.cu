// Gaussian error linear unit: exact, and the approximation by tanh that transformers were trained with.
__device__ float gelu(float x) { return x * normcdff(x); }
__device__ double gelu(double x) { return x * normcdf(x); }
__device__ float gelu_tanh(float x)
{
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
}
