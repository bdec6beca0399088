/* Sizes of core dimensions that no input has.  Part of the driver's unit for cells with such. */

#ifdef UFM_SIZES
/* A core dimension of an output that is computed: give it its size, or set the exception; `name` is what it is
   computed of. */
int __ufm_set_size(__ufm_intp *size, __ufm_intp computed, const char *name)
{
    if (computed >= 0 && (*size == -1 || *size == computed)) return *size = computed, 0;
    const int state = hold();
    const char *text = computed < 0 ? "%s is %zd for these arguments, but an array cannot have a negative size"
                                    : "%s is %zd for these arguments, but out= has %zd";
    __ufm_narrowing_host.format(__ufm_narrowing_host.value_error, text, name, computed, *size);
    let_go(state);
    return -1;
}

/* One that only out= gives. */
int __ufm_need_size(__ufm_intp *size, const char *name)
{
    if (*size >= 0) return 0;
    const int state = hold();
    __ufm_narrowing_host.format(__ufm_narrowing_host.value_error, "%s is the size of an output, and no argument gives it: pass out=, an array of that size", name);
    let_go(state);
    return -1;
}

/* The numbers among the arguments that give sizes of outputs, which NumPy does not tell: runtime/sized_calls.py puts
   them here before it calls NumPy. */
static __thread __ufm_intp wishes[MAX_OPERANDS];
EXPORT void __ufm_wish(int k, __ufm_intp size) { wishes[k] = size; }
__ufm_intp __ufm_wished(int k) { return wishes[k]; }

/* A call of a ufunc whose arguments have to be looked at first: `prepare` returns a tuple of them as NumPy is to have
   them. */
typedef struct SizedCall {
    struct SizedCall *next;
    const void *ufunc;
    void *(*call)(void *, void *const *, size_t, void *); /* NumPy's own vectorcall */
    void *prepare;
} SizedCall;
EXPORT SizedCall *__ufm_sized_calls;

/* PyObject_Vectorcall, PyTuple_Size, PyTuple_GetItem, Py_DecRef. */
typedef struct {
    void *(*vectorcall)(void *, void *const *, size_t, void *);
    ptrdiff_t (*size)(void *);
    void *(*item)(void *, ptrdiff_t);
    void (*forget)(void *);
} SizedHost;
EXPORT SizedHost __ufm_sized_host;

EXPORT void *__ufm_sized_call(void *ufunc, void *const *args, size_t count, void *names)
{
    enum { MOST_ARGUMENTS = 2 * MAX_OPERANDS };
    const SizedHost *const host = &__ufm_sized_host;
    const SizedCall *s = __atomic_load_n(&__ufm_sized_calls, __ATOMIC_ACQUIRE);
    void *values[MOST_ARGUMENTS], *result = NULL;
    count &= ~((size_t)1 << (8 * sizeof(size_t) - 1)); /* PY_VECTORCALL_ARGUMENTS_OFFSET */
    while (s->ufunc != ufunc) s = s->next;
    if (count + (names ? (size_t)host->size(names) : 0) > MOST_ARGUMENTS) return s->call(ufunc, args, count, names);
    void *const given = host->vectorcall(s->prepare, args, count, names);
    if (!given) return NULL;
    for (ptrdiff_t k = 0; k < host->size(given); k++) values[k] = host->item(given, k);
    result = s->call(ufunc, values, count, names);
    host->forget(given);
    return result;
}
#endif
