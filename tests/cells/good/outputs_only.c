// types: pair ->dd, answer ->d, row ->(3) ->d
// expect: pair() == (1, 2) exactly
// expect: answer() == 42 exactly
// expect: answer(out=np.empty((2, 3))) == np.full((2, 3), 42.) exactly
// expect: row(out=np.empty((2, 3))) == [[1, 2, 3]] * 2 exactly
void pair(double *a, double *b) { *a = 1; *b = 2; }
double answer(void) { return 42; }
void row(double a[3]) { for (int i = 0; i < 3; i++) a[i] = i + 1; }
