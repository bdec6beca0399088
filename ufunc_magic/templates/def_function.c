/* A def of a Cython cell, as the notebook has it: Cython's own function for all that is no array, its ufunc for arrays.

   Compiled once per compiler and Python, and linked into every object that has one.  A process takes the type from the
   first such object (runtime/def_function.py); the name of the function that makes it is its version. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#ifdef _WIN32
#define EXPORT __attribute__((dllexport))
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *ufunc;
    vectorcallfunc own; /* the function's */
    PyObject *names;    /* of the parameters: a tuple */
    PyObject *keywords; /* what only the ufunc takes: a frozenset */
    Py_ssize_t by_place; /* how many parameters are not keyword-only */
    PyObject *weak;
} Def;

/* Of the process's one type. */
static PyTypeObject *ndarray, *number;
static PyObject *array_ufunc, *array_method, *defaults, *keyword_defaults, *own_names, *faults;

/* Does NumPy see an array?  Its own numbers have __array__, too. */
static int is_array(PyObject *value)
{
    PyTypeObject *const type = Py_TYPE(value);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || value == Py_None) return 0;
    if (type == ndarray || _PyType_Lookup(type, array_ufunc)) return 1;
    return _PyType_Lookup(type, array_method) && !PyType_IsSubtype(type, number);
}

/* -------------------------------------------------------------------------------------------- arrays */

/* NumPy refuses a Python integer that is too wide for its parameter before any loop is called, and names neither: loops
   for arrays of integers do.  Their exception takes the place of NumPy's. */
static void name_the_integer(const Def *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    const Py_ssize_t all = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *kind, *fault, *trace, *result = NULL;
    PyErr_Fetch(&kind, &fault, &trace);
    PyObject *const text = fault ? PyObject_Str(fault) : NULL;
    PyObject *const numpy = PyImport_ImportModule("numpy");
    PyObject **const arrays = PyMem_Calloc(all + 1, sizeof *arrays);
    Py_ssize_t k = 0;
    if (text && numpy && arrays && !strncmp(PyUnicode_AsUTF8(text), "Python int", 10))
        for (; k < all; k++) {
            const int wide = k < count && PyLong_CheckExact(args[k]);
            arrays[k] = wide ? PyObject_CallMethod(numpy, "asarray", "O", args[k]) : Py_NewRef(args[k]);
            if (!arrays[k]) break;
        }
    if (k == all) result = PyObject_Vectorcall(self->ufunc, arrays, count, kwnames);
    if (result || !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Restore(kind, fault, trace);
    } else {
        Py_XDECREF(kind);
        Py_XDECREF(fault);
        Py_XDECREF(trace);
    }
    for (k = 0; arrays && k < all; k++) Py_XDECREF(arrays[k]);
    PyMem_Free(arrays);
    Py_XDECREF(text);
    Py_XDECREF(numpy);
    Py_XDECREF(result);
}

static PyObject *call_by_place(const Def *self, PyObject *const *args, size_t count, PyObject *kwnames)
{
    PyObject *const result = PyObject_Vectorcall(self->ufunc, args, count, kwnames);
    if (!result && PyErr_ExceptionMatches(PyExc_OverflowError))
        name_the_integer(self, args, PyVectorcall_NARGS(count), kwnames);
    return result;
}

/* The value of parameter `k` that was given by name, borrowed; NULL: it was not. */
static PyObject *by_name(const Def *self, Py_ssize_t k, PyObject *const *values, PyObject *kwnames, char *used)
{
    PyObject *const name = PyTuple_GET_ITEM(self->names, k);
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, i), name) == 0) {
            used[i] = 1;
            return values[i];
        }
    return NULL;
}

/* The ufunc with names and defaults in their places, since a ufunc knows neither. */
static PyObject *call_by_name(const Def *self, PyObject *const *args, Py_ssize_t given, PyObject *kwnames)
{
    const Py_ssize_t wanted = PyTuple_GET_SIZE(self->names);
    const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    const Py_ssize_t positional = given > wanted ? given : wanted;
    const Py_ssize_t by_place = self->by_place < wanted ? self->by_place : wanted;
    PyObject *result = NULL, *rest = NULL;
    PyObject *of_parameters = PyObject_GetAttr(self->function, defaults);
    PyObject *of_keywords = PyObject_GetAttr(self->function, keyword_defaults);
    PyObject **all = PyMem_Malloc(sizeof *all * (positional + named + 1));
    char *used = PyMem_Calloc(named + 1, 1);
    if (!of_parameters || !of_keywords) PyErr_Clear();
    if (!all || !used) {
        PyErr_NoMemory();
        goto done;
    }
    const Py_ssize_t optional = of_parameters && PyTuple_Check(of_parameters) ? PyTuple_GET_SIZE(of_parameters) : 0;
    for (Py_ssize_t k = 0; k < positional; k++) {
        PyObject *const value = k < wanted ? by_name(self, k, args + given, kwnames, used) : NULL;
        const Py_ssize_t from_end = k - (by_place - optional);
        all[k] = k < given ? args[k] : value;
        if (!all[k] && from_end >= 0 && from_end < optional) all[k] = PyTuple_GET_ITEM(of_parameters, from_end);
        if (!all[k] && k >= by_place && of_keywords && PyDict_Check(of_keywords))
            all[k] = PyDict_GetItem(of_keywords, PyTuple_GET_ITEM(self->names, k));
        /* missing, there twice, or by its place where it has a name only: the function says it best */
        if (!all[k] || (k < given && (value || (by_place < wanted && k >= by_place)))) {
            result = self->own(self->function, args, given, kwnames);
            goto done;
        }
    }
    Py_ssize_t left = 0;
    for (Py_ssize_t i = 0; i < named; i++) left += !used[i];
    if (left && !(rest = PyTuple_New(left))) goto done;
    for (Py_ssize_t i = 0, k = 0; i < named; i++) {
        if (used[i]) continue;
        all[positional + k] = args[given + i];
        PyTuple_SET_ITEM(rest, k++, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    }
    result = call_by_place(self, all, positional, rest);
done:
    PyMem_Free(all);
    PyMem_Free(used);
    Py_XDECREF(rest);
    Py_XDECREF(of_parameters);
    Py_XDECREF(of_keywords);
    return result;
}

static PyObject *call_ufunc(const Def *self, PyObject *const *args, size_t count, PyObject *kwnames)
{
    const Py_ssize_t given = PyVectorcall_NARGS(count), wanted = PyTuple_GET_SIZE(self->names);
    int simple = given >= wanted && self->by_place >= wanted;
    for (Py_ssize_t i = 0; simple && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        simple = PySequence_Contains(self->names, PyTuple_GET_ITEM(kwnames, i)) == 0;
    if (simple) return call_by_place(self, args, count, kwnames);
    return call_by_name(self, args, given, kwnames);
}

/* The ufunc finds the fault of Cython's function once more, and says what it was.  It gets a float for what the function
   took for a double and NumPy takes for an object: a wide integer, a fraction. */
static PyObject *find_fault(const Def *self, PyObject *const *args, Py_ssize_t given, PyObject *kwnames)
{
    const Py_ssize_t count = given + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **const same = PyMem_Malloc(sizeof *same * (count + 1));
    if (!same) return PyErr_NoMemory();
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *const value = args[k];
        int wide = !PyFloat_Check(value) && !PyComplex_Check(value) && !PyType_IsSubtype(Py_TYPE(value), number);
        if (wide && PyLong_Check(value)) PyLong_AsLongLongAndOverflow(value, &wide);
        same[k] = wide && PyNumber_Check(value) ? PyNumber_Float(value) : NULL;
        PyErr_Clear();
        if (!same[k]) same[k] = Py_NewRef(value);
    }
    PyObject *const result = call_ufunc(self, same, given, kwnames);
    for (Py_ssize_t k = 0; k < count; k++) Py_DECREF(same[k]);
    PyMem_Free(same);
    return result;
}

static PyObject *call_def(PyObject *callable, PyObject *const *args, size_t count, PyObject *kwnames)
{
    const Def *const self = (Def *)callable;
    Py_ssize_t values = PyVectorcall_NARGS(count);
    if (kwnames) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
            const int its = PySet_Contains(self->keywords, PyTuple_GET_ITEM(kwnames, k));
            if (its) return its < 0 ? NULL : call_ufunc(self, args, count, kwnames);
        }
        values += PyTuple_GET_SIZE(kwnames);
    }
    for (Py_ssize_t k = 0; k < values; k++)
        if (is_array(args[k])) return call_ufunc(self, args, count, kwnames);
    PyObject *const result = self->own(self->function, args, count, kwnames);
    if (result || !PyErr_ExceptionMatches(faults)) return result;
    PyErr_Clear();
    return find_fault(self, args, PyVectorcall_NARGS(count), kwnames);
}

/* ---------------------------------------------------------------------------------------- attributes

   The function's, but for those of the type itself; what the function has not, the ufunc may have. */
static PyObject *get(PyObject *object, PyObject *name)
{
    const Def *const self = (Def *)object;
    const int own = PySet_Contains(own_names, name);
    if (own) return own < 0 ? NULL : PyObject_GenericGetAttr(object, name);
    PyObject *value = PyObject_GetAttr(self->function, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    PyObject *kind, *fault, *trace;
    PyErr_Fetch(&kind, &fault, &trace);
    value = PyObject_GetAttr(self->ufunc, name);
    if (value) {
        Py_XDECREF(kind);
        Py_XDECREF(fault);
        Py_XDECREF(trace);
    }
    else PyErr_Restore(kind, fault, trace);
    return value;
}

static int set(PyObject *object, PyObject *name, PyObject *value)
{
    const int own = PySet_Contains(own_names, name);
    if (own) return own < 0 ? -1 : PyObject_GenericSetAttr(object, name, value);
    return PyObject_SetAttr(((Def *)object)->function, name, value);
}

static PyObject *bind(PyObject *self, PyObject *instance, PyObject *kind)
{
    (void)kind;
    return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

static PyObject *repr(PyObject *self) { return PyObject_Repr(((Def *)self)->function); }
static PyObject *item(PyObject *self, PyObject *key) { return PyObject_GetItem(((Def *)self)->function, key); }

/* --------------------------------------------------------------------------------------- the type */

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function, *ufunc, *names, *of_ufunc;
    Py_ssize_t by_place;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "OOO!O!n", &function, &ufunc, &PyTuple_Type, &names, &PyFrozenSet_Type, &of_ufunc,
                          &by_place))
        return NULL;
    Def *const self = (Def *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->function = Py_NewRef(function);
    self->ufunc = Py_NewRef(ufunc);
    self->names = Py_NewRef(names);
    self->keywords = Py_NewRef(of_ufunc);
    self->own = PyVectorcall_Function(function);
    if (!self->own) self->own = PyObject_Vectorcall;
    self->by_place = by_place;
    self->call = call_def;
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Def *const self = (Def *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->ufunc);
    return 0;
}

static void dealloc(PyObject *object)
{
    Def *const self = (Def *)object;
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weak) PyObject_ClearWeakRefs(object);
    Py_CLEAR(self->function);
    Py_CLEAR(self->ufunc);
    Py_CLEAR(self->names);
    Py_CLEAR(self->keywords);
    type->tp_free(object);
    Py_DECREF(type);
}

/* object.__getattribute__, which `help` uses, finds no attribute of the function. */
static PyObject *get_doc(PyObject *object, void *unused)
{
    (void)unused;
    return PyObject_GetAttrString(((Def *)object)->function, "__doc__");
}

static PyGetSetDef computed[] = {{"__doc__", get_doc, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Def, call), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Def, weak), READONLY, NULL},
    {"__wrapped__", T_OBJECT_EX, offsetof(Def, function), READONLY, "The function that Cython compiled."},
    {"ufunc", T_OBJECT_EX, offsetof(Def, ufunc), READONLY, "The numpy.ufunc that computes arrays."},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, traverse},
    {Py_tp_dealloc, dealloc},
    {Py_tp_getattro, get},
    {Py_tp_setattro, set},
    {Py_tp_descr_get, bind},
    {Py_tp_repr, repr},
    {Py_mp_subscript, item},
    {Py_tp_members, members},
    {Py_tp_getset, computed},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "ufunc_magic.runtime.CythonFunction",
    .basicsize = sizeof(Def),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots,
};

/* The type, below a class of Python's; `its` are names of attributes that are not the function's, `ends` the exceptions of
   calls that did not come back. */
EXPORT PyObject *__ufm_def_type_3(PyObject *base, PyObject *array, PyObject *generic, PyObject *its, PyObject *ends)
{
    array_ufunc = PyUnicode_InternFromString("__array_ufunc__");
    array_method = PyUnicode_InternFromString("__array__");
    defaults = PyUnicode_InternFromString("__defaults__");
    keyword_defaults = PyUnicode_InternFromString("__kwdefaults__");
    if (!array_ufunc || !array_method || !defaults || !keyword_defaults) return NULL;
    ndarray = (PyTypeObject *)Py_NewRef(array);
    number = (PyTypeObject *)Py_NewRef(generic);
    own_names = Py_NewRef(its);
    faults = Py_NewRef(ends);
    PyObject *const bases = PyTuple_Pack(1, base);
    PyObject *const type = bases ? PyType_FromSpecWithBases(&spec, bases) : NULL;
    Py_XDECREF(bases);
    return type;
}
