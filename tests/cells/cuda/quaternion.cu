// A vector turned by the unit quaternion (w, x, y, z).
static __device__ float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__device__ void rotate(float w, float x, float y, float z, float vx, float vy, float vz, float *ox, float *oy, float *oz)
{
    float scale = rsqrtf(w * w + x * x + y * y + z * z);
    float3 q = make_float3(x * scale, y * scale, z * scale), v = make_float3(vx, vy, vz);
    float3 t = cross(q, v);
    t = make_float3(2 * t.x, 2 * t.y, 2 * t.z);
    float3 u = cross(q, t);
    *ox = v.x + w * scale * t.x + u.x;
    *oy = v.y + w * scale * t.y + u.y;
    *oz = v.z + w * scale * t.z + u.z;
}
