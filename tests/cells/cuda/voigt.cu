// Voigt's profile on the imaginary axis: w(iy) = erfcx(y); and Mills' ratio of the normal distribution.
__device__ double faddeeva_imaginary(double y) { return erfcx(y); }
__device__ double mills_ratio(double x) { return 1.2533141373155003 * erfcx(x * 0.7071067811865476); }
