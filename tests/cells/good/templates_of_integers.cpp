// types: half i->i l->l f->f d->d, parity i->i l->l, mixed II->I LL->L, common ii->i ll->l, whole i->i l->l
// types: rounded f->f d->d, through f->f d->d, third f->f d->d, mean ii->d ll->d ff->d dd->d, either i->i l->l f->f d->d
// expect: [half(7), half(-7)] == [3, -3] exactly
// expect: half(np.array([7])) == [3] exactly
// expect: [half(7.0), half(np.float32(7))] == [3.5, 3.5] exactly
// expect: [half(np.int16(7)).dtype, half(np.uint32(7)).dtype, half(7.0).dtype] == [np.dtype("i4"), np.dtype("l"), np.dtype("d")] exactly
// expect: parity(np.array([3, 4, -5])) == [1, 0, -1] exactly
// expect: mixed(np.uint32(2**32 - 1), np.uint32(1)) == 2**32 - 2 exactly
// expect: common(np.arange(1, 5), 4) == [1, 2, 1, 4] exactly
// expect: whole(9) == 4 exactly
// expect: [rounded(7), through(7), third(7)] == [3.5, 4.5, 7 * (1 / 3)] exactly
// expect: [mean(1, 2), mean(1.0, 2)] == [1, 1.5] exactly
// expect: [either(7), either(7.5)] == [1, 1.5] exactly

#include <cmath>
#include <numeric>
#include <type_traits>

template <class T> T half(T x) { return x / 2; }
template <class T> T parity(T x) { return x % 2; }
template <class T> T mixed(T x, T y) {
    static_assert(std::is_unsigned<T>::value, "bits");
    return x ^ y;
}
template <class T> T common(T a, T b) { return std::gcd(a, b); }
template <class T, class = std::enable_if_t<std::is_integral<T>::value>> T whole(T x) { return x / 2; }
template <class T> T rounded(T x) { return x * 0.5; }
template <class T> T through(T x) { return rounded(x) + 1; }
template <class T> T third(T x) { return x * (T(1) / 3.0); }
template <class T> double mean(T a, T b) { return (a + b) / 2; }
template <class T> T either(T x) {
    if constexpr (std::is_integral_v<T>) return x % 3;
    else return std::fmod(x, T(3));
}
