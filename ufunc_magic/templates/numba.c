/* Around code that Numba compiled: what it asks of Numba's runtime where that is plain arithmetic or memory,
   and its exceptions.  What a unit does not use is left out by its __UFM_WANT_ macros.  No header is included:
   <math.h> and <stdlib.h> would take gcc three quarters of its time. */
typedef __SIZE_TYPE__ __ufm_size;
#ifdef _WIN32
#define __UFM_EXPORT __attribute__((__dllexport__))
#else
#define __UFM_EXPORT __attribute__((__visibility__("default")))
#endif

/* What was found out about the CPU when the object was opened; clang knows the levels from 18 on. */
#if defined __clang__ && __clang_major__ < 18
#define __UFM_HAS(feature) __builtin_cpu_supports(feature)
#define __UFM_LEVEL_1 (__UFM_HAS("avx2") && __UFM_HAS("fma") && __UFM_HAS("bmi") && __UFM_HAS("bmi2"))
#define __UFM_LEVEL_2 \
    (__UFM_LEVEL_1 && __UFM_HAS("avx512f") && __UFM_HAS("avx512bw") && __UFM_HAS("avx512cd") && \
     __UFM_HAS("avx512dq") && __UFM_HAS("avx512vl"))
#else
#define __UFM_LEVEL_1 __builtin_cpu_supports("x86-64-v3")
#define __UFM_LEVEL_2 __builtin_cpu_supports("x86-64-v4")
#endif

/* ------------------------------------------------------------------------------------------ exceptions */
#ifdef __UFM_RAISES
/* Filled in by whoever loads the object, in the order of the names; __ufm_exception makes the exception object
   of its text, "s", and the tuple of its arguments, "N". */
enum { CALL, TYPE_OF, SET_ERROR, FORGET, FLOAT, LONG, UNSIGNED, BOOL, COMPLEX, TUPLE, SET_ITEM, COUNT };
__UFM_EXPORT const char *const __ufm_python_names =
    "PyObject_CallFunction PyObject_Type PyErr_SetObject Py_DecRef PyFloat_FromDouble PyLong_FromLongLong "
    "PyLong_FromUnsignedLongLong PyBool_FromLong PyComplex_FromDoubles PyTuple_New PyTuple_SetItem";
__UFM_EXPORT void *__ufm_python[COUNT], *__ufm_exception;

/* Numba's excinfo_t (numba/core/callconv.py): `count` arguments of run time, which `box` makes a tuple of and frees. */
typedef struct {
    const char *text;
    int size;
    void *arguments;
    void *(*box)(void *);
    int count;
} __ufm_said;

void __ufm_forget(void *said)
{
    __ufm_said *known = said;
    if (known->count <= 0) return; /* a constant */
    __builtin_free(known->arguments);
    __builtin_free(known);
}

/* Set the exception of a status that is not 0; with the GIL. */
static void __ufm_raise(int status, void *said)
{
    void *(*const call)(void *, const char *, ...) = (void *(*)(void *, const char *, ...))__ufm_python[CALL];
    __ufm_said *known = said;
    if (status < 1 || !known || !call) {
        __ufm_fail("a function compiled by Numba failed without saying why");
        return;
    }
    void *made = 0;
    if (known->count > 0) {
        void *const arguments = known->box(known->arguments);
        if (arguments) made = call(__ufm_exception, "sN", known->text, arguments);
        __builtin_free(known);
    }
    else made = call(__ufm_exception, "s", known->text);
    if (!made) return; /* the class itself raised something */
    void *const kind = ((void *(*)(void *))__ufm_python[TYPE_OF])(made);
    ((void (*)(void *, void *))__ufm_python[SET_ERROR])(kind, made);
    ((void (*)(void *))__ufm_python[FORGET])(kind);
    ((void (*)(void *))__ufm_python[FORGET])(made);
}
#endif
#ifdef __UFM_WANT_NRT_Allocate
void *NRT_Allocate(__ufm_size size) { return __builtin_malloc(size); }
#endif
#ifdef __UFM_WANT_NRT_Free
void NRT_Free(void *memory) { __builtin_free(memory); }
#endif
#ifdef __UFM_WANT_PyFloat_FromDouble
void *PyFloat_FromDouble(double x) { return ((void *(*)(double))__ufm_python[FLOAT])(x); }
#endif
#ifdef __UFM_WANT_PyLong_FromLongLong
void *PyLong_FromLongLong(long long x) { return ((void *(*)(long long))__ufm_python[LONG])(x); }
#endif
#ifdef __UFM_WANT_PyLong_FromUnsignedLongLong
void *PyLong_FromUnsignedLongLong(unsigned long long x)
{
    return ((void *(*)(unsigned long long))__ufm_python[UNSIGNED])(x);
}
#endif
#ifdef __UFM_WANT_PyLong_FromLong
void *PyLong_FromLong(long x) { return ((void *(*)(long long))__ufm_python[LONG])(x); }
#endif
#ifdef __UFM_WANT_PyLong_FromSsize_t
void *PyLong_FromSsize_t(__ufm_intp x) { return ((void *(*)(long long))__ufm_python[LONG])(x); }
#endif
#ifdef __UFM_WANT_PyBool_FromLong
void *PyBool_FromLong(long x) { return ((void *(*)(long))__ufm_python[BOOL])(x); }
#endif
#ifdef __UFM_WANT_PyComplex_FromDoubles
void *PyComplex_FromDoubles(double re, double im) { return ((void *(*)(double, double))__ufm_python[COMPLEX])(re, im); }
#endif
#ifdef __UFM_WANT_PyTuple_Pack
/* Unlike Python's it takes the references, which Numba does not use any more. */
void *PyTuple_Pack(__ufm_intp count, ...)
{
    void *const made = ((void *(*)(__ufm_intp))__ufm_python[TUPLE])(count);
    __builtin_va_list items;
    __builtin_va_start(items, count);
    for (__ufm_intp n = 0; made && n < count; n++)
        ((int (*)(void *, __ufm_intp, void *))__ufm_python[SET_ITEM])(made, n, __builtin_va_arg(items, void *));
    __builtin_va_end(items);
    return made;
}
#endif

/* ------------------------------------------------------------------------------------------ arithmetic */
#ifdef __UFM_WANT_numba_frexp
double numba_frexp(double x, int *exponent) { return __builtin_frexp(x, (*exponent = 0, exponent)); }
#endif
#ifdef __UFM_WANT_numba_frexpf
float numba_frexpf(float x, int *exponent) { return __builtin_frexpf(x, (*exponent = 0, exponent)); }
#endif
#ifdef __UFM_WANT_numba_ldexp
double numba_ldexp(double x, int exponent) { return __builtin_ldexp(x, exponent); }
#endif
#ifdef __UFM_WANT_numba_ldexpf
float numba_ldexpf(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
#endif
#ifdef __UFM_WANT_numba_gamma
double numba_gamma(double x) { return __builtin_tgamma(x); }
#endif
#ifdef __UFM_WANT_numba_gammaf
float numba_gammaf(float x) { return __builtin_tgammaf(x); }
#endif
#ifdef __UFM_WANT_numba_nextafter
double numba_nextafter(double x, double y) { return __builtin_nextafter(x, y); }
#endif
#ifdef __UFM_WANT_numba_nextafterf
float numba_nextafterf(float x, float y) { return __builtin_nextafterf(x, y); }
#endif
#if defined(__UFM_WANT_numba_cpow) || defined(__UFM_WANT_numba_cpowf)
/* a**b in polar form; Python's rules for the powers of 0, NaN where it raises. */
static void __ufm_power(const double *a, const double *b, double *out)
{
    if (b[0] == 0 && b[1] == 0) {
        out[0] = 1, out[1] = 0;
        return;
    }
    if (a[0] == 0 && a[1] == 0) {
        out[0] = out[1] = b[0] < 0 || b[1] != 0 ? __builtin_nan("") : 0;
        return;
    }
    const double size = __builtin_hypot(a[0], a[1]), angle = __builtin_atan2(a[1], a[0]);
    double length = __builtin_pow(size, b[0]), phase = angle * b[0];
    if (b[1] != 0) {
        length /= __builtin_exp(angle * b[1]);
        phase += b[1] * __builtin_log(size);
    }
    out[0] = length * __builtin_cos(phase), out[1] = length * __builtin_sin(phase);
}
#endif
#ifdef __UFM_WANT_numba_cpow
void numba_cpow(const double *a, const double *b, double *out) { __ufm_power(a, b, out); }
#endif
#ifdef __UFM_WANT_numba_cpowf
void numba_cpowf(const float *a, const float *b, float *out)
{
    double made[2];
    __ufm_power((const double[]){a[0], a[1]}, (const double[]){b[0], b[1]}, made);
    out[0] = (float)made[0], out[1] = (float)made[1];
}
#endif
