// log(1 + exp(x)) without overflow, and mish = x tanh(softplus(x)).
__device__ double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }
__device__ float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
__device__ double mish(double x) { return x * tanh(softplus(x)); }
