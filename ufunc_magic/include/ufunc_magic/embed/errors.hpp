// A Python exception as a C++ exception, with its type, message and traceback.
#ifndef UFUNC_MAGIC_EMBED_ERRORS_HPP
#define UFUNC_MAGIC_EMBED_ERRORS_HPP

#include "interpreter.hpp"

#include <memory>
#include <string>
#include <utility>

namespace ufunc_magic {

namespace detail {

/// A reference that goes at the end of the scope, with the GIL held.
class local {
public:
    local(PyObject *owned = nullptr) : pointer(owned) {}
    local(local &&other) noexcept : pointer(std::exchange(other.pointer, nullptr)) {}
    local &operator=(local &&other) noexcept
    {
        std::swap(pointer, other.pointer);
        return *this;
    }
    ~local() { Py_XDECREF(pointer); }
    PyObject *get() const { return pointer; }
    PyObject *release() { return std::exchange(pointer, nullptr); }
    explicit operator bool() const { return pointer != nullptr; }

private:
    PyObject *pointer;
};

/// A Python string as UTF-8; what cannot be said so is left out.
inline std::string text(PyObject *string)
{
    const local bytes(string ? PyUnicode_AsEncodedString(string, "utf-8", "replace") : nullptr);
    if (!bytes) {
        PyErr_Clear();
        return {};
    }
    return {PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

/// The exception that is set, taken away: null if there is none.
inline PyObject *taken()
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

/// traceback.format_exception of it, as one text; "" where even that fails.
inline std::string formatted(PyObject *raised)
{
    const local module(PyImport_ImportModule("traceback"));
    const local lines(module ? PyObject_CallMethod(module.get(), "format_exception", "O", raised) : nullptr);
    const local nothing(PyUnicode_FromString(""));
    const local joined(lines && nothing ? PyUnicode_Join(nothing.get(), lines.get()) : nullptr);
    const std::string made = text(joined.get());
    PyErr_Clear();
    return made;
}

/// An owned reference that any thread may drop, with or without the GIL.
inline std::shared_ptr<PyObject> shared(PyObject *owned)
{
    return {owned, [](PyObject *object) {
                if (!object || !alive()) return;
                const gil hold;
                Py_DECREF(object);
            }};
}

} // namespace detail

/// What Python raised.  what() is "ValueError: the message".
class python_error : public error {
public:
    /// Takes the exception that is set; with the GIL.
    static python_error take()
    {
        PyObject *const raised = detail::taken();
        if (!raised) return {nullptr, "SystemError", "a call failed without an exception"};
        const detail::local said(PyObject_Str(raised));
        if (!said) PyErr_Clear();
        const std::string name = Py_TYPE(raised)->tp_name; // of classes written in C with their module
        return {raised, name.substr(name.rfind('.') + 1), detail::text(said.get())};
    }

    /// The class's name without its module: "ValueError".
    const std::string &type() const { return kind; }
    /// The text of the exception alone.
    const std::string &message() const { return said; }
    /// What Python would print: the traceback and the message.
    const std::string &traceback() const { return trace; }

    /// Whether it is an instance of the class, as `except` would say: is(PyExc_ArithmeticError).
    bool is(PyObject *type) const
    {
        if (!value || !detail::alive()) return false;
        const gil hold;
        return PyErr_GivenExceptionMatches(value.get(), type) != 0;
    }

    /// Set it again in Python: for C++ that Python has called, before it returns its NULL.
    void restore() const
    {
        const gil hold;
        if (value) PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(value.get())), value.get());
        else PyErr_SetString(PyExc_SystemError, what());
    }

private:
    python_error(PyObject *raised, std::string type, std::string message)
        : error(message.empty() ? type : type + ": " + message), value(detail::shared(raised)), kind(std::move(type)),
          said(std::move(message)), trace(raised ? detail::formatted(raised) : "")
    {
    }

    std::shared_ptr<PyObject> value;
    std::string kind, said, trace;
};

namespace detail {

/// The reference, or what Python has raised instead of making it.
inline PyObject *checked(PyObject *made)
{
    if (!made) throw python_error::take();
    return made;
}

inline void checked(int status)
{
    if (status < 0) throw python_error::take();
}

} // namespace detail

} // namespace ufunc_magic

#endif
