// types: softplus f->f d->d, clamp iii->i lll->l fff->f ddd->d
// expect: softplus(0.0) == np.log(2) within 1e-15
// expect: softplus(np.float32(0)).dtype == np.float32 exactly
// expect: clamp([7, -7], 0, 5).dtype == np.int64 exactly
// expect: softplus(0) == np.log(2) within 1e-15
// expect: clamp([-1.0, 0.5, 2.0], 0.0, 1.0) == [0, 0.5, 1] exactly

#include <algorithm>
#include <cmath>

template <typename T> T softplus(T x) { return std::log1p(std::exp(x)); }
template <class T> inline T clamp(T x, T low, T high) { return std::min(std::max(x, low), high); }
