/* Between a cell's unit and the driver's.  It stands before the cell: every name is reserved, and no
   header is included. */
#line 1 "<ufunc_magic>"
typedef char __ufm_char;
typedef unsigned char __ufm_byte;
typedef __PTRDIFF_TYPE__ __ufm_intp; /* NumPy's npy_intp */

/* An element-wise loop.  `kernel` computes `count` elements (a multiple of `pad`) of contiguous operands
   that do not overlap; `sequence` computes one element after the other at any stride, and keeps a copy of
   every operand in `kept`. */
typedef struct {
    /* 1: some element failed, and what was written is worth nothing.  NULL where every call needs Python. */
    int (*kernel)(__ufm_intp count, __ufm_char **operands);
    /* 1: an exception is set; the elements before the one that raised it are written. */
    int (*sequence)(__ufm_intp count, __ufm_char **operands, const __ufm_intp *steps, __ufm_char **kept);
    int (*one)(__ufm_char **operands); /* computes one element, where `sequence` is NULL */
    const __ufm_byte *types; /* NumPy type numbers, inputs first */
    int nin, nout, pad;
    /* Floating-point flags that the kernel raised: 0 none is passed on (--fast-math), 1 those that a result
       shows, 2 all (the cell works on the FP environment itself). */
    int judge;
    int python; /* `sequence` runs Python code, and a kernel that failed is told by it what happened */
    /* The kernel at any stride, where so little is computed that copies for the kernel's sake cost more; or NULL. */
    int (*strided)(__ufm_intp count, __ufm_char **operands, const __ufm_intp *steps);
    const __ufm_char *name;
} __ufm_plan;

/* Of each operand of a loop that has structures among them. */
typedef struct {
    int size, align;
} __ufm_item;
/* Numbers that stand in an operand, `count` of them from `offset` on; of an array the first one's name. */
typedef struct {
    short operand;
    int count, offset, type;
    const __ufm_char *name;
} __ufm_leaf;

/* A generalized loop.  `item` works on one item whose cores are contiguous; outputs are zeroed before. */
typedef struct {
    int (*item)(__ufm_char **operands, const __ufm_intp *dims);    /* 1: it failed; NULL as above */
    int (*checked)(__ufm_char **operands, const __ufm_intp *dims); /* 1: an exception is set; NULL: runs no Python */
    const __ufm_byte *types;
    const short *cores;       /* for each operand the numbers of its core dimensions, then -1 */
    const signed char *from;  /* for each output the input it starts as, or -1 */
    const __ufm_byte *copied; /* for each operand: 1 if the function may write to an input, else the alignment it needs or 0 */
    int nin, nout, judge;
    const __ufm_char *name;
    const __ufm_item *items; /* where some operand is a structure, as the next two; NULL: nowhere */
    const __ufm_leaf *leaves;
    int leaf_count;
} __ufm_core_plan;

/* An element-wise loop of which some operand is a structure: `kernel` as above, of operands that are aligned. */
typedef struct {
    int (*kernel)(__ufm_intp count, __ufm_char **operands);
    const __ufm_byte *types;
    const __ufm_item *items;
    const __ufm_leaf *leaves;
    int leaf_count, nin, nout, judge;
    const __ufm_char *name;
} __ufm_record_plan;

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((visibility("hidden"))) void __ufm_elementwise(const __ufm_plan *, __ufm_char **, const __ufm_intp *,
                                                             const __ufm_intp *, void *);
__attribute__((visibility("hidden"))) int __ufm_generalized(const __ufm_core_plan *, __ufm_char *const *,
                                                            const __ufm_intp *, const __ufm_intp *);
__attribute__((visibility("hidden"))) int __ufm_run_records(const __ufm_record_plan *, __ufm_char *const *,
                                                            const __ufm_intp *, const __ufm_intp *);
__attribute__((visibility("hidden"))) void __ufm_fail(const __ufm_char *);
__attribute__((visibility("hidden"))) void __ufm_fail_as(void *, const __ufm_char *);
__attribute__((visibility("hidden"))) void __ufm_fail_thrown(void);
__attribute__((visibility("hidden"))) void __ufm_plain_call(const __ufm_char *, void (*)(void *), void *, int);
__attribute__((visibility("hidden"))) int __ufm_set_size(__ufm_intp *, __ufm_intp, const __ufm_char *);
__attribute__((visibility("hidden"))) int __ufm_need_size(__ufm_intp *, const __ufm_char *);
__attribute__((visibility("hidden"))) __ufm_intp __ufm_wished(int);
void __ufm_wish(int, __ufm_intp);
#ifdef __cplusplus
}
#endif
