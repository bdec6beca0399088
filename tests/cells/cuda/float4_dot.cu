// Vector operators as cells define them for themselves.
static __device__ __forceinline__ float4 operator*(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
static __device__ __forceinline__ float sum(float4 a) { return (a.x + a.y) + (a.z + a.w); }
__device__ float dot4(float ax, float ay, float az, float aw, float bx, float by, float bz, float bw)
{
    return sum(make_float4(ax, ay, az, aw) * make_float4(bx, by, bz, bw));
}
