// types: f dd->d, g f->f
// expect: f(2.0, 3.0) == 8 exactly
// expect: g(np.float32(2)).dtype == np.float32 exactly

typedef double real;
typedef real number;
typedef const float single_t;
#define real_t number

real_t f(real a, number b) { real_t r = 1; for (int i = 0; i < (int)b; i++) r *= a; return r; }
float g(single_t x) { return x * 2; }
