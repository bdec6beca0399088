// The interpreter: started or joined, and the lock (GIL) that every thread needs to use it.
#ifndef UFUNC_MAGIC_EMBED_INTERPRETER_HPP
#define UFUNC_MAGIC_EMBED_INTERPRETER_HPP

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace ufunc_magic {

/// Base of everything that this library throws.  Its text says value - fault - remedy.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Holds the GIL while it lives; may be nested, and taken in any thread.
class gil {
public:
    gil() : before(PyGILState_Ensure()) {}
    ~gil() { PyGILState_Release(before); }
    gil(const gil &) = delete;
    gil &operator=(const gil &) = delete;

private:
    PyGILState_STATE before;
};

/// Lets go of the GIL while it lives: for C++ that was called from Python and does not need it for a while.
class released {
public:
    released() : kept(PyEval_SaveThread()) {}
    ~released() { PyEval_RestoreThread(kept); }
    released(const released &) = delete;
    released &operator=(const released &) = delete;

private:
    PyThreadState *kept;
};

/// Keeps this thread known to Python while it lives, without the GIL.  A thread that C++ has started is otherwise
/// made known and forgotten again in every call, with its threading.local values.
class attached {
public:
    attached() : before(PyGILState_Ensure()), kept(PyEval_SaveThread()) {}
    ~attached()
    {
        PyEval_RestoreThread(kept);
        PyGILState_Release(before);
    }
    attached(const attached &) = delete;
    attached &operator=(const attached &) = delete;

private:
    PyGILState_STATE before;
    PyThreadState *kept;
};

namespace detail {

/// Whether Python can still be called: objects may outlive the interpreter, and are then left alone.
inline bool alive()
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsInitialized() && !Py_IsFinalizing();
#else
    return Py_IsInitialized() != 0;
#endif
}

/// What is looked up once per interpreter.  Read and written with the GIL.
struct lookups {
    bool current = false; // will be emptied when the interpreter ends
    PyObject *memory_type = nullptr;
    PyObject *asarray = nullptr;        // numpy.asarray
    PyObject *unowned_memory = nullptr; // cupy.cuda.UnownedMemory
    PyObject *memory_pointer = nullptr; // cupy.cuda.MemoryPointer
    PyObject *device_array = nullptr;   // cupy.ndarray

    void forget()
    {
        for (PyObject **one : {&memory_type, &asarray, &unowned_memory, &memory_pointer, &device_array})
            Py_CLEAR(*one);
    }
};

inline lookups found;

/// The lookups of the interpreter that runs: whoever ends it, the next one starts with none.
inline lookups &known()
{
    if (!found.current) found.current = Py_AtExit([] { found = lookups{}; }) == 0;
    return found;
}

/// The interpreter that this library has started, if it has.
struct process {
    std::mutex lock;
    int users = 0;
    PyThreadState *main = nullptr; // of the thread that started it; null where somebody else did
    unsigned long thread = 0;
};

inline process &here()
{
    static process one;
    return one;
}

} // namespace detail

/// How Python is started.  It takes no notice where it runs already.
struct start_options {
    /// A python executable, that of a virtual environment for instance: decides what can be imported.  "": the
    /// python3 of PATH, which is the active environment's.
    std::string executable;
    /// Folders that are searched first: appended to the front of sys.path.
    std::vector<std::string> path;
    /// Take no notice of PYTHONPATH, PYTHONHOME and the user's site-packages.
    bool isolated = false;
    /// Let Python handle Ctrl-C; otherwise signals stay as the program has them.
    bool signals = false;
};

/// Python, started by the first of these and ended by the last; joined where the process runs one already.
///
/// Give the one that starts Python a place in main() that outlives all others: Python is ended in the thread that
/// started it, or not at all.  It can be started again after that, but NumPy cannot be imported a second time, and
/// what is left of the first interpreter's objects must not be used.  Threads that call Python end before it does.
class interpreter {
public:
    explicit interpreter(const start_options &options = {})
    {
        auto &shared = detail::here();
        const std::lock_guard<std::mutex> lock(shared.lock);
        if (!Py_IsInitialized()) {
            start(options);
            shared.thread = PyThread_get_thread_ident();
            shared.main = PyEval_SaveThread(); // any thread may take the GIL now, this one too
        }
        ++shared.users;
    }

    ~interpreter()
    {
        auto &shared = detail::here();
        const std::lock_guard<std::mutex> lock(shared.lock);
        if (--shared.users || !shared.main || shared.thread != PyThread_get_thread_ident()) return;
        PyEval_RestoreThread(shared.main);
        shared.main = nullptr;
        detail::found.forget();
        Py_FinalizeEx();
    }

    interpreter(const interpreter &) = delete;
    interpreter &operator=(const interpreter &) = delete;

    /// Whether this library started the interpreter, rather than somebody before.
    static bool started() { return detail::here().main != nullptr; }

private:
    static void start(const start_options &options)
    {
        PyConfig config;
        if (options.isolated) PyConfig_InitIsolatedConfig(&config);
        else PyConfig_InitPythonConfig(&config);
        config.install_signal_handlers = options.signals;
        config.parse_argv = 0;
        PyStatus status = PyStatus_Ok();
        if (!options.executable.empty())
            status = PyConfig_SetBytesString(&config, &config.program_name, options.executable.c_str());
        if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
        PyConfig_Clear(&config);
        if (PyStatus_Exception(status))
            throw error(std::string("Python does not start: ") + (status.err_msg ? status.err_msg : "unknown reason") +
                        ". Set start_options::executable to the python of a working installation.");
        PyObject *const path = PySys_GetObject("path"); // borrowed
        for (std::size_t n = 0; path && n < options.path.size(); ++n) {
            PyObject *const folder = PyUnicode_DecodeFSDefault(options.path[n].c_str());
            if (!folder || PyList_Insert(path, static_cast<Py_ssize_t>(n), folder)) PyErr_Clear();
            Py_XDECREF(folder);
        }
    }
};

} // namespace ufunc_magic

#endif
