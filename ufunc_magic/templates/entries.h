/* Entries from Python into a Cython cell are contained: a fault of the cell's code ends the call.

   Part of the C of every Cython cell (languages/cython/cython_entries.py).  Each of its functions that Python calls, of
   its generators and its statements runs behind a frame of containment.h.  What the code has changed of the thread's state
   is as before when it is left: the GIL, exceptions, counters of recursion.  References that it had are lost. */
#include <stdint.h>
#include "frame.h"
#ifdef __cplusplus
extern "C" {
#endif
#define __UFM_HIDDEN __attribute__((visibility("hidden")))
__UFM_HIDDEN void *__ufm_begin(__ufm_frame *, uint64_t *);
__UFM_HIDDEN void __ufm_end(void *, const __ufm_frame *);
__UFM_HIDDEN int __ufm_go_on(uint64_t);
__UFM_HIDDEN void __ufm_tell(const char *);
__UFM_HIDDEN int __ufm_look(uintptr_t);
__UFM_HIDDEN extern struct {
    uintptr_t floor;
    volatile uintptr_t room;
} __ufm_main_stack; /* the beginning of what containment.h calls a Stack */
__attribute__((visibility("default"))) int __ufm_execute(PyObject *);
#ifdef __cplusplus
}
#endif

typedef struct {
    __ufm_frame frame;
    void *inside; /* NULL: nobody contains faults in this process */
    uint64_t modes;
    PyThreadState *state;
    _PyErr_StackItem *handled;
    PyObject *exception; /* the one that is being handled: a borrowed reference */
    void *running;       /* frames of Python's, and where the next one begins */
    PyObject **top;
    int recursion, c_recursion, ensured, tracing;
} __ufm_entry;

/* Below all that a function needs: an array of what it calls that is overrun, by up to so much, hits nothing else. */
#define __UFM_MAKE_ROOM __asm__ volatile("" : : "r"(__builtin_alloca(4096)) : "memory");

#if PY_VERSION_HEX >= 0x030d0000
#define __UFM_STATE PyThreadState_GetUnchecked
#define __UFM_RUNNING current_frame
#else
#define __UFM_STATE _PyThreadState_UncheckedGet
#define __UFM_RUNNING cframe
#endif
#if PY_VERSION_HEX >= 0x030c0000
#define __UFM_RECURSION py_recursion_remaining
#else
#define __UFM_RECURSION recursion_remaining
#endif

CYTHON_UNUSED static CYTHON_INLINE void __ufm_enter(__ufm_entry *entry)
{
    PyThreadState *const state = __UFM_STATE();
    entry->state = state;
    entry->handled = state->exc_info;
    entry->exception = state->exc_info->exc_value;
    entry->running = state->__UFM_RUNNING;
    entry->recursion = state->__UFM_RECURSION;
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000
    entry->c_recursion = state->c_recursion_remaining;
#endif
    entry->ensured = state->gilstate_counter;
    entry->top = state->datastack_top;
    entry->tracing = state->tracing;
    entry->inside = __ufm_begin(&entry->frame, &entry->modes);
}
CYTHON_UNUSED static CYTHON_INLINE void __ufm_leave(__ufm_entry *entry)
{
    if (entry->inside) __ufm_end(entry->inside, &entry->frame);
}

/* 1, with an exception: the stack has no room for another call, or the user wants out. */
CYTHON_UNUSED __attribute__((cold, noinline)) static int __ufm_look_closely(uintptr_t here, const char *name)
{
    if (!__ufm_look(here)) return PyErr_CheckSignals();
    PyErr_Format(PyExc_RecursionError, "%s: the stack is full (maximum recursion depth exceeded)", name);
    return 1;
}
CYTHON_UNUSED static CYTHON_INLINE int __ufm_is_full(const char *name)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here - __ufm_main_stack.floor >= __ufm_main_stack.room && __ufm_look_closely(here, name);
}

/* Of a recursion that filled the stack, the innermost calls: a traceback of 50,000 takes IPython minutes to show. */
CYTHON_UNUSED static int __ufm_trace(PyFrameObject *frame)
{
    enum { MOST = 100 };
    if (PyErr_ExceptionMatches(PyExc_RecursionError)) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        int count = 0;
        for (PyTracebackObject *t = (PyTracebackObject *)trace; t && count < MOST; t = t->tb_next) count++;
        PyErr_Restore(kind, value, trace);
        if (count == MOST) return 0;
    }
    return PyTraceBack_Here(frame);
}
#define PyTraceBack_Here __ufm_trace

/* What was being handled: `except` keeps it in the same place, with a reference of its own. */
CYTHON_UNUSED static void __ufm_handle_again(const __ufm_entry *entry)
{
    PyObject *const inner = entry->handled->exc_value;
    if (inner == entry->exception) return;
    entry->handled->exc_value = entry->exception;
    Py_XDECREF(inner);
}

/* Where an entry goes on that was left: with an exception. */
CYTHON_UNUSED __attribute__((cold, noinline)) static void __ufm_came_back(__ufm_entry *entry, const char *name)
{
    PyThreadState *const state = entry->state;
    const int stopped = __ufm_go_on(entry->modes);
    if (__UFM_STATE() != state) PyEval_RestoreThread(state); /* a `nogil` block was left */
    state->gilstate_counter = entry->ensured;
    state->__UFM_RECURSION = entry->recursion;
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000
    state->c_recursion_remaining = entry->c_recursion;
#endif
    *(void **)&state->__UFM_RUNNING = entry->running;
    state->tracing = entry->tracing;
    _PyStackChunk *chunk = state->datastack_chunk;
    while (chunk && ((char *)entry->top < (char *)chunk || (char *)entry->top > (char *)chunk + chunk->size))
        chunk = chunk->previous;
    if (chunk) {
        state->datastack_chunk = chunk;
        state->datastack_top = entry->top;
        state->datastack_limit = (PyObject **)((char *)chunk + chunk->size);
    }
    state->exc_info = entry->handled;
    __ufm_handle_again(entry);
    PyErr_Clear();
    if (!stopped) __ufm_tell(name);
    else if (!PyErr_CheckSignals()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    __ufm_handle_again(entry); /* where Python handled one meanwhile, it has left None, which a generator takes for one */
}
