// types: multiply (4),(4)->(4) dd->d, rotate (4),(3)->(3) dd->d, conjugate (4)->(4) d->d
// given: i, j, k = np.eye(4)[1:]
// expect: multiply(i, j) == k exactly
// expect: multiply(np.stack([i, j, k]), np.stack([i, j, k])) == [[-1, 0, 0, 0]] * 3 exactly
// expect: multiply(np.eye(4)[:, ::-1][3], j[::1]) == j exactly
// expect: rotate(np.array([np.sqrt(.5), 0, 0, np.sqrt(.5)]), [1.0, 0, 0]) == [0, 1, 0] within 1e-15 or 1e-15
// expect: conjugate([1.0, 2, 3, 4]) == [1, -2, -3, -4] exactly

typedef double quaternion[4];
typedef double vector[3];

void multiply(const quaternion p, const quaternion q, quaternion out)
{
    out[0] = p[0]*q[0] - p[1]*q[1] - p[2]*q[2] - p[3]*q[3];
    out[1] = p[0]*q[1] + p[1]*q[0] + p[2]*q[3] - p[3]*q[2];
    out[2] = p[0]*q[2] - p[1]*q[3] + p[2]*q[0] + p[3]*q[1];
    out[3] = p[0]*q[3] + p[1]*q[2] - p[2]*q[1] + p[3]*q[0];
}
void conjugate(const quaternion q, quaternion out) { out[0] = q[0]; for (int i = 1; i < 4; i++) out[i] = -q[i]; }
void rotate(const quaternion q, const vector v, vector out)
{
    quaternion t = {0, v[0], v[1], v[2]}, c, s, r;
    conjugate(q, c);
    multiply(q, t, s);
    multiply(s, c, r);
    for (int i = 0; i < 3; i++) out[i] = r[i + 1];
}
