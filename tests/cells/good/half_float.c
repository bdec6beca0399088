// types: scale ee->e, mean eee->f
// given: h = np.float16
// expect: scale(h([1, 2.5, np.inf]), h(2)) == [2, 5, np.inf] exactly
// expect: scale(h(1), h(2)).dtype == np.float16 exactly
// expect: mean(h(1), h(2), h(6)) == 3 exactly

_Float16 scale(_Float16 x, _Float16 by) { return x * by; }
float mean(_Float16 a, _Float16 b, _Float16 c) { return ((float)a + b + c) / 3; }
