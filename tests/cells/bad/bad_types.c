// options: types="f4,f3"
T f(T x) { return x; }
