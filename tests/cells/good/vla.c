// types: outer (m),(n)->(m,n) dd->d, total (n)->() f->f, matmul (m,k),(k,n)->(m,n) dd->d
// given: a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
// expect: outer([1.0, 2.0], [1.0, 10.0, 100.0]) == np.outer([1, 2], [1, 10, 100]) exactly
// expect: total(np.ones((2, 5), "f")) == [5, 5] exactly
// expect: matmul(a, b) == a @ b exactly
// expect: matmul(a, b.T.copy().T) == a @ b exactly

void outer(int m, int n, const double a[m], const double b[n], double c[m][n])
{
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) c[i][j] = a[i] * b[j];
}
float total(const int n, const float x[n]) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
void matmul(int m, int k, int n, double a[m][k], double b[k][n], double out[m][n])
{
    double row[n];
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) { row[j] = 0; for (int l = 0; l < k; l++) row[j] += a[i][l] * b[l][j]; }
        for (int j = 0; j < n; j++) out[i][j] = row[j];
    }
}
