// C: the compiler itself says which of NumPy's types a spelling means.
#ifdef __FLT16_MAX__
#define __UFM_HALF _Float16 * : 23,
#else
#define __UFM_HALF
#endif
#define __UFM_TYPE(T) _Generic((T *)0, _Bool * : 0, \
    char * : ((char)-1 < 0 ? 1 : 2), signed char * : 1, unsigned char * : 2, \
    short * : 3, unsigned short * : 4, int * : 5, unsigned int * : 6, long * : 7, unsigned long * : 8, \
    long long * : 9, unsigned long long * : 10, __UFM_HALF float * : 11, double * : 12, long double * : 13, \
    float _Complex * : 14, double _Complex * : 15, long double _Complex * : 16, default : 255)
#define __UFM_ZERO_RECORD(T) ({ T __ufm_z; __builtin_memset(&__ufm_z, 0, sizeof __ufm_z); __ufm_z; })
#define __UFM_ZERO(T) ((T){0})
