/* Loops of wide numbers: NumPy makes int64 of Python's integers and float64 of its floats, and a function of
   narrower types must not get other values than it was given.  So runtime/promotion.py registers, for each
   combination of types that is met, a loop that checks every value while it copies it, and then calls the
   function's own loop.  Part of the driver's unit. */

enum { FROM_INT64 = 1, FROM_UINT64 = 2, FROM_DOUBLE = 3, FROM_COMPLEX = 4, IS_INTEGER = 5, IS_DOUBLE = 6, FROM_OBJECT = 7 };
enum { CHUNK = 8192, SMALL = 1024 }; /* elements at a time; bytes that need no allocation */
#ifdef UFM_PARALLEL
enum { MOST = 1 << 20 }; /* what threads are worth */
#else
enum { MOST = CHUNK };
#endif

/* One combination of types of one ufunc.  Filled in by runtime/promotion.py. */
typedef struct Narrowing {
    struct Narrowing *next;
    const void *ufunc;
    void (*loop)(char **, const ptrdiff_t *, const ptrdiff_t *, void *); /* the function's own */
    void *data;
    const int *wide;            /* type numbers that NumPy calls with, inputs and outputs */
    const unsigned char *own;   /* type numbers of the function */
    const unsigned char *from;  /* for each input: FROM_..., or 0 where it is the function's own type */
    const int *core_dims;       /* for each operand */
    const short *cores;         /* and the numbers of its core dimensions, one operand after the other */
    const char *const *refusal; /* for each input, what is said of a value that does not fit */
    int nin, nout, dims;        /* dims: different core dimensions */
} Narrowing;
EXPORT Narrowing *__ufm_narrowings;

/* PyErr_Format, classes of exceptions, and where the type number stands in a PyArray_Descr. */
typedef struct {
    void *(*format)(void *, const char *, ...);
    void *overflow_error, *type_error, *value_error;
    ptrdiff_t type_number;
} NarrowingHost;
EXPORT NarrowingHost __ufm_narrowing_host;

/* PyLong_AsLongLongAndOverflow and PyErr_Occurred; a struct of its own, since objects of older versions lack it. */
typedef struct {
    long long (*as_integer)(const void *, int *);
    void *(*raised)(void);
} NarrowingObjects;
EXPORT NarrowingObjects __ufm_narrowing_objects;

/* NumPy's PyArrayMethod_Context, as far as it is needed. */
typedef struct {
    const void *ufunc;
    const void *method;
    const char *const *descriptors;
} Context;

static const Narrowing *narrowing_of(const Context *context)
{
    const Narrowing *n = __atomic_load_n(&__ufm_narrowings, __ATOMIC_ACQUIRE);
    for (; n; n = n->next) {
        if (n->ufunc != context->ufunc) continue;
        int k = 0;
        while (k < n->nin && *(const int *)(context->descriptors[k] + __ufm_narrowing_host.type_number) == n->wide[k]) k++;
        if (k == n->nin) return n;
    }
    return NULL;
}

/* Integers fit where value + bias, taken as unsigned, has no bit from `shift` on.  Comes back with all bits that occur. */
#define COPY(T)                                                                                                        \
    for (; count > 0; count--, from += step, to += sizeof(T)) {                                                        \
        const uint64_t v = *(const uint64_t *)from;                                                                    \
        bits |= v + bias;                                                                                              \
        *(T *)to = (T)v;                                                                                               \
    }

/* C's int, which is what people write: vectors, and the memory behind them asked for ahead. */
FAST ONCE static uint64_t copy_ints(uint32_t *restrict to, const uint64_t *restrict from, ptrdiff_t count, uint64_t bias)
{
    uint64_t bits = 0;
    for (ptrdiff_t j = 0; j < count; j += 32) {
        for (int k = 0; k < 32; k += 8) __builtin_prefetch(from + j + k + 128);
        for (int k = 0; k < 32; k++) bits |= from[j + k] + bias, to[j + k] = (uint32_t)from[j + k];
    }
    return bits;
}

ONCE static uint64_t copy_integers(char *to, size_t size, const char *from, ptrdiff_t step, ptrdiff_t count, uint64_t bias)
{
    uint64_t bits = 0;
    switch (size) {
    case 1: COPY(uint8_t) break;
    case 2: COPY(uint16_t) break;
    case 4:
        if (step == 8) {
            const ptrdiff_t whole = count & ~(ptrdiff_t)31;
            bits = copy_ints((uint32_t *)to, (const uint64_t *)from, whole, bias);
            to += 4 * whole, from += 8 * whole, count -= whole;
        }
        COPY(uint32_t)
        break;
    default: COPY(uint64_t)
    }
    return bits;
}

/* A number that does not fit: _Refusal of runtime/faults.py. */
typedef struct {
    void *kind;
    const char *text; /* with %lld, %llu or %S for the number and %s for its place */
    const void *value;
    const int *core_dims; /* of each input */
    const UfuncCall *call;
    int nin, input, from;
} Refusal;

/* Set the exception for input k, and come back with NumPy's sign for it. */
RARE static int refuse(const Narrowing *n, int k, const char *value)
{
    const NarrowingHost *host = &__ufm_narrowing_host;
    const int from = n->from[k], state = hold();
    if (from == FROM_DOUBLE || from == FROM_COMPLEX) host->format(host->type_error, n->refusal[k]);
    else {
        const Refusal refusal = {host->overflow_error, n->refusal[k], value, n->core_dims, ask_own()->call, n->nin, k, from};
        if (!tell_python("refuse", &refusal)) {
            if (from == FROM_OBJECT) host->format(host->overflow_error, n->refusal[k], *(void *const *)value, "");
            else host->format(host->overflow_error, n->refusal[k], *(const long long *)value, "");
        }
    }
    mine.raised_before = 1;
    let_go(state);
    return -1;
}

/* The same for Python objects, which NumPy makes of integers that are wider than any of its types. */
RARE static int copy_objects(const Narrowing *n, int k, char *to, const char *from, ptrdiff_t step, ptrdiff_t count)
{
    const int own = n->own[k], bits = 8 * (int)item_size[own], is_signed = own % 2;
    const int state = hold();
    int failed = 0;
    for (ptrdiff_t at = 0; at < count && !failed; at++, from += step, to += bits / 8) {
        int over = 0;
        const void *object = *(void *const *)from;
        if (!object) {
            __ufm_narrowing_host.format(__ufm_narrowing_host.type_error, "an integer is required, not None");
            failed = -1;
            break;
        }
        const long long value = __ufm_narrowing_objects.as_integer(object, &over);
        const long long rest = is_signed ? value >> (bits - 1) : bits < 64 ? value >> bits : 0;
        if (value == -1 && !over && __ufm_narrowing_objects.raised()) failed = -1;
        else if (over || (rest != 0 && !(is_signed && rest == -1))) failed = refuse(n, k, from);
        else memcpy(to, &value, bits / 8);
    }
    if (failed) mine.raised_before = 1;
    let_go(state);
    return failed;
}

/* Copy `count` numbers of input k. */
static int copy_narrow(const Narrowing *n, int k, char *to, const char *from, ptrdiff_t step, ptrdiff_t count)
{
    const int own = n->own[k], is_signed = own % 2; /* NumPy's signed integers have odd numbers: 1, 3, 5, 7, 9 */
    const size_t size = item_size[own];
    switch (n->from[k]) {
    case FROM_OBJECT: return copy_objects(n, k, to, from, step, count);
    case FROM_DOUBLE: *(float *)to = (float)*(const double *)from; return 0;
    case IS_INTEGER: /* of C's bool, true where it is not 0 */
        for (; count > 0; count--, from += step) *to++ = *(const uint64_t *)from != 0;
        return 0;
    case IS_DOUBLE:
        for (; count > 0; count--, from += step) *to++ = *(const double *)from != 0;
        return 0;
    case FROM_COMPLEX:
        ((float *)to)[0] = (float)((const double *)from)[0];
        ((float *)to)[1] = (float)((const double *)from)[1];
        return 0;
    }
    const int bits = 8 * (int)size, wraps = n->from[k] == FROM_INT64 && is_signed;
    const uint64_t bias = wraps ? (uint64_t)1 << (bits - 1) : 0;
    const int top = n->from[k] == FROM_UINT64 && is_signed ? bits - 1 : bits;
    const int shift = top > 63 ? 63 : top; /* int64 to uint64: the sign's bit */
    if (!(copy_integers(to, size, from, step, count, bias) >> shift)) return 0;
    while (!((*(const uint64_t *)from + bias) >> shift)) from += step;
    return refuse(n, k, from);
}

/* `count` items of input k's cores, one after the other. */
static int copy_cores(const Narrowing *n, int k, char *to, const char *from, ptrdiff_t step, ptrdiff_t count,
                      const ptrdiff_t *sizes, const ptrdiff_t *steps)
{
    const size_t size = item_size[n->own[k]];
    ptrdiff_t index[MAX_CORE] = {0}, row = 1;
    int dims = n->core_dims[k]; /* as many as are left when the last ones are taken together */
    for (; dims && steps[dims - 1] == 8 * row; dims--) row *= sizes[dims - 1];
    const ptrdiff_t row_step = row == 1 && dims ? steps[dims - 1] : 8;
    if (row == 1 && dims) row = sizes[--dims];
    for (int d = 0; d < dims; d++)
        if (!sizes[d]) return 0;
    if (!dims && row_step == 8 && step == 8 * row && row) return copy_narrow(n, k, to, from, 8, count * row);
    for (ptrdiff_t item = 0; item < count; item++)
        for (int d = 0; d >= 0; ) {
            const char *place = from + item * step;
            for (d = 0; d < dims; d++) place += index[d] * steps[d];
            if (copy_narrow(n, k, to, place, row_step, row)) return -1;
            to += (size_t)row * size;
            for (d = dims - 1; d >= 0 && ++index[d] == sizes[d]; d--) index[d] = 0;
        }
    return 0;
}

/* What NumPy calls; 0, or -1 with an exception set. */
EXPORT int __ufm_narrowing(Context *context, char *const *data, const ptrdiff_t *dimensions, const ptrdiff_t *strides,
                           void *unused)
{
    const Narrowing *n = narrowing_of(context);
    const ptrdiff_t total = dimensions[0];
    Own *const own = ask_own();
    (void)unused;
    if (!n) return __ufm_fail("this combination of types was never registered"), -1;
    if (total <= 0) return 0;
    if (doomed(own)) return -1;
    const int all = n->nin + n->nout;
    char *args[MAX_OPERANDS], *scratch[MAX_OPERANDS] = {NULL};
    ptrdiff_t items[MAX_OPERANDS], most = 1, need = 0;
    int core_steps = 0;
    for (int k = 0, core = 0; k < all; k++) {
        items[k] = 1;
        for (int d = 0; d < n->core_dims[k]; d++, core++) items[k] *= dimensions[1 + n->cores[core]];
        if (k < n->nin && n->from[k] && items[k] > most) most = items[k];
        core_steps += n->core_dims[k];
        if (k >= n->nin || !n->from[k]) continue;
        if ((n->from[k] == FROM_DOUBLE || n->from[k] == FROM_COMPLEX) && (total > 1 || items[k] > 1)) return refuse(n, k, NULL);
    }
    ptrdiff_t chunk = (most > MOST ? 1 : MOST / most);
    if (chunk > total) chunk = total;
    for (int k = 0; k < n->nin; k++)
        if (n->from[k]) need += (chunk * items[k] * item_size[n->own[k]] + 511) & ~(ptrdiff_t)63;
    const ptrdiff_t tables = ((ptrdiff_t)sizeof(ptrdiff_t) * (1 + n->dims + all + core_steps) + 15) & ~(ptrdiff_t)15;
    char small[SMALL] __attribute__((aligned(16)));
    char *memory = need + tables <= SMALL ? small : malloc((size_t)(need + tables + 64));
    if (!memory) return fail(__ufm_host.memory_error, "no memory for narrow copies of the arguments"), -1;
    ptrdiff_t *sizes = (ptrdiff_t *)memory, *steps = sizes + 1 + n->dims;
    char *place = memory + tables;
    if (memory != small) place += -(uintptr_t)place % 64; /* vectors that lie across cache lines cost 10 % */

    for (int d = 0; d < n->dims; d++) sizes[1 + d] = dimensions[1 + d];
    for (int k = 0; k < all + core_steps; k++) steps[k] = strides[k];
    ptrdiff_t *core_step = steps + all;
    for (int k = 0, core = 0; k < all; core += n->core_dims[k], core_step += n->core_dims[k], k++) {
        if (k >= n->nin || !n->from[k]) continue;
        scratch[k] = place;
        place += (chunk * items[k] * item_size[n->own[k]] + 511) & ~(ptrdiff_t)63;
        ptrdiff_t step = item_size[n->own[k]];
        for (int d = n->core_dims[k] - 1; d >= 0; step *= dimensions[1 + n->cores[core + d]], d--) core_step[d] = step;
        steps[k] = step;
    }
    int failed = 0;
    for (ptrdiff_t start = 0; start < total && !failed; start += chunk) {
        const ptrdiff_t count = total - start < chunk ? total - start : chunk;
        const ptrdiff_t *wide_core = strides + all;
        for (int k = 0, core = 0; k < all && !failed; core += n->core_dims[k], wide_core += n->core_dims[k], k++) {
            char *from = args[k] = data[k] + start * strides[k];
            if (!scratch[k]) continue;
            args[k] = scratch[k];
            if (!n->core_dims[k]) failed = copy_narrow(n, k, scratch[k], from, strides[k], count);
            else {
                ptrdiff_t shape[MAX_CORE];
                for (int d = 0; d < n->core_dims[k]; d++) shape[d] = dimensions[1 + n->cores[core + d]];
                failed = copy_cores(n, k, scratch[k], from, strides[k], count, shape, wide_core);
            }
        }
        if (failed) break;
        sizes[0] = count;
        n->loop(args, sizes, steps, n->data);
        failed = doomed(own);
    }
    if (memory != small) free(memory);
    return failed ? -1 : 0;
}
