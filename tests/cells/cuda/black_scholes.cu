// European options: both prices at once.
struct Terms { double d1, d2, discount; };
static __device__ Terms terms(double s, double k, double t, double r, double v)
{
    double spread = v * sqrt(t), d1 = (log(s / k) + (r + 0.5 * v * v) * t) / spread;
    return {d1, d1 - spread, exp(-r * t)};
}
__device__ void black_scholes(double s, double k, double t, double r, double v, double *call, double *put)
{
    Terms q = terms(s, k, t, r, v);
    *call = s * normcdf(q.d1) - k * q.discount * normcdf(q.d2);
    *put = k * q.discount * normcdf(-q.d2) - s * normcdf(-q.d1);
}
