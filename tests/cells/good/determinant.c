// types: det3 (3,3)->() d->d, transpose (3,3)->(3,3) f->f, trace (n,n)->() d->d
// given: m = np.random.default_rng(1).normal(size=(50, 3, 3))
// expect: det3(m) == np.linalg.det(m) within 1e-12
// expect: det3(m.swapaxes(1, 2)) == np.linalg.det(m) within 1e-12
// expect: transpose(np.float32(m)) == np.float32(m).swapaxes(1, 2) exactly
// expect: trace(m[:, ::-1]) == np.trace(m[:, ::-1], axis1=1, axis2=2) within 1e-15

double det3(const double a[3][3])
{
    return a[0][0] * (a[1][1]*a[2][2] - a[1][2]*a[2][1])
         - a[0][1] * (a[1][0]*a[2][2] - a[1][2]*a[2][0])
         + a[0][2] * (a[1][0]*a[2][1] - a[1][1]*a[2][0]);
}
void transpose(const float a[3][3], float b[3][3]) { for (int i = 0; i < 9; i++) b[i % 3][i / 3] = a[i / 3][i % 3]; }
// ufunc: (n,n)->()
double trace(const double *a, int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i*n + i]; return s; }
