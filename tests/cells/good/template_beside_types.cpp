// types: clipped f->f d->d, twice d->d
// options: types="f4,f8"
// expect: clipped(np.float32(-1)).dtype == np.float32 exactly
// expect: clipped([-1.0, 0.5]) == [0, 0.5] exactly
// expect: twice(1.5) == 3 exactly

template <class T> T clipped(T x) { return x < 0 ? 0 : x; }
double twice(double x) { return 2 * x; }
