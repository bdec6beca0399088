// options: types="f4,f8,i4"
// types: poly ii->i ff->f dd->d
// expect: poly(2.0, 3.0) == 10 exactly
// expect: poly(np.float32(2), np.float32(3)).dtype == np.float32 exactly
// expect: poly(2, 3) == 10 exactly

static T square(T x) { return x * x; }
T poly(T a, T b) { return square(b) + a - 1; }
