/* Where a call of a cell's code is left to: for driver.c and for units of Cython cells, whose names are the cell's own. */
#if defined(_WIN32) || (defined(__GNUC__) && !defined(__clang__)) || defined(__x86_64__)
/* The compiler's own: it saves what the function needs, at a third of the price. */
typedef void *__ufm_jump[5];
#define __UFM_SET_JUMP(jump) __builtin_setjmp(jump)
#define __UFM_JUMP_TO(jump) __builtin_longjmp(jump, 1)
#else
#include <setjmp.h>
typedef sigjmp_buf __ufm_jump;
#define __UFM_SET_JUMP(jump) sigsetjmp(jump, 0)
#define __UFM_JUMP_TO(jump) siglongjmp(jump, 1)
#endif

/* A call of a cell's code that is under way. */
typedef struct __ufm_frame {
    struct __ufm_frame *previous;
    const struct __ufm_object *object;
    int python; /* it runs Python: whoever is not in the cell's own code must not be left */
    __ufm_jump jump;
} __ufm_frame;
