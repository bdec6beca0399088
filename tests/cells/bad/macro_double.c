#define double float complex
double f(double x) { return x; }
