// types: f g->g
// expect: f(np.longdouble(0)) == np.longdouble(2)**-16380 exactly
// expect: f(np.longdouble(1)) == 1 exactly
long double f(long double x) { return x < 0x1p-16380L ? 0x1p-16380L : x > 0x1p16000L ? 1 : x; }
