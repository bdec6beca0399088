struct pair { double a, *b; };
typedef struct pair number;
// ufunc: (),()->()
double f(number x, double y) { return x.a + y; }
