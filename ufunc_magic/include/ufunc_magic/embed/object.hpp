// Python objects: held, called with C++ values and memory, and read back.
#ifndef UFUNC_MAGIC_EMBED_OBJECT_HPP
#define UFUNC_MAGIC_EMBED_OBJECT_HPP

#include "memory.hpp"

#include <array>
#include <complex>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ufunc_magic {

template <class T> class host_array;
template <class T> class device_array;

/// A Python object.  Copies share it; any thread may hold, call and drop it.
class object {
public:
    object() = default;
    object(const object &other) : pointer(other.pointer)
    {
        if (!pointer) return;
        const gil hold;
        Py_INCREF(pointer);
    }
    object(object &&other) noexcept : pointer(std::exchange(other.pointer, nullptr)) {}
    object &operator=(object other) noexcept
    {
        std::swap(pointer, other.pointer);
        return *this;
    }
    ~object()
    {
        if (!pointer || !detail::alive()) return;
        const gil hold;
        Py_DECREF(pointer);
    }

    /// Takes over a new reference, or throws what Python has raised where it is null.  With the GIL.
    static object steal(PyObject *owned)
    {
        object made;
        made.pointer = detail::checked(owned);
        return made;
    }

    PyObject *get() const { return pointer; }
    explicit operator bool() const { return pointer != nullptr; }
    bool is_none() const { return pointer == Py_None; }

    object attr(const char *name) const
    {
        const gil hold;
        return steal(PyObject_GetAttrString(wanted(), name));
    }

    /// An item, by an index or a key.
    template <class Key> object operator[](const Key &key) const;

    /// Call it with numbers, texts, objects, memory, and named() ones last.
    ///
    /// Throws
    /// ------
    /// python_error: what the function, or the making of its arguments, raised.
    template <class... Given> object operator()(Given &&...given) const;

    /// The value as bool, an integer, a floating-point number, std::complex<double> or std::string.
    template <class T> T as() const;

    /// The host memory of an array or anything else with a buffer; T const where it is only read.
    template <class T> host_array<T> host() const;

    /// The device memory of a CuPy array or anything else with __cuda_array_interface__.
    template <class T> device_array<T> device() const;

    /// What repr() says of it.
    std::string repr() const
    {
        const gil hold;
        return detail::text(detail::local(detail::checked(PyObject_Repr(wanted()))).get());
    }

private:
    PyObject *wanted() const
    {
        if (!pointer) throw error("This object is empty. Give it a value, with import() for instance, before its use.");
        return pointer;
    }

    PyObject *pointer = nullptr;
};

/// A module, by its dotted name.
inline object import(const char *name)
{
    const gil hold;
    return object::steal(PyImport_ImportModule(name));
}

/// Run statements, and return the names that they have made, as a dict.
inline object run(const char *statements)
{
    const gil hold;
    detail::local names(detail::checked(PyDict_New()));
    detail::checked(PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()));
    const detail::local none(detail::checked(PyRun_String(statements, Py_file_input, names.get(), names.get())));
    return object::steal(names.release());
}

/// A keyword argument.
template <class T> struct keyword {
    const char *name;
    const T &value;
};

/// f(named("sigma", 2.5)) is Python's f(sigma=2.5).
template <class T> keyword<T> named(const char *name, const T &value) { return {name, value}; }

namespace detail {

template <class T> struct is_keyword : std::false_type {};
template <class T> struct is_keyword<keyword<T>> : std::true_type {};
template <class T> inline constexpr bool is_text = std::is_convertible_v<const T &, std::string_view>;

/// A C++ value as a new reference; null with an exception set, or a C++ exception, where it cannot be.
template <class T> PyObject *converted(const T &value)
{
    if constexpr (is_keyword<T>::value) return converted(value.value);
    else if constexpr (std::is_same_v<T, std::nullptr_t>) return Py_NewRef(Py_None);
    else if constexpr (std::is_same_v<T, object>) return Py_NewRef(value ? value.get() : Py_None);
    else if constexpr (std::is_same_v<T, memory>) return value.to_python();
    else if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
    else if constexpr (std::is_floating_point_v<T>) return PyFloat_FromDouble(static_cast<double>(value));
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return PyLong_FromLongLong(value);
    else if constexpr (std::is_integral_v<T>) return PyLong_FromUnsignedLongLong(value);
    else if constexpr (std::is_same_v<T, std::complex<double>>) return PyComplex_FromDoubles(value.real(), value.imag());
    else {
        static_assert(is_text<T>, "Python gets numbers, texts, nullptr, objects, host() and device() memory");
        const std::string_view text(value);
        return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    }
}

/// References that go together; the first place is free for the callee (PY_VECTORCALL_ARGUMENTS_OFFSET).
template <std::size_t Count> struct references {
    std::array<PyObject *, Count + 1> all{};
    ~references()
    {
        for (PyObject *one : all) Py_XDECREF(one);
    }
};

template <class T> const char *name_of(const T &value)
{
    if constexpr (is_keyword<T>::value) return value.name;
    else return (void)value, nullptr;
}

} // namespace detail

template <class... Given> object object::operator()(Given &&...given) const
{
    constexpr std::size_t count = sizeof...(Given);
    constexpr std::size_t words = (0 + ... + detail::is_keyword<std::decay_t<Given>>::value);
    const gil hold;
    PyObject *const callee = wanted();
    detail::references<count> arguments;
    std::size_t place = 0;
    ((arguments.all[++place] = detail::checked(detail::converted<std::decay_t<Given>>(given))), ...);
    detail::local names;
    if constexpr (words > 0) {
        names = detail::local(detail::checked(PyTuple_New(static_cast<Py_ssize_t>(words))));
        Py_ssize_t n = 0;
        for (const char *name : {detail::name_of(given)...}) {
            if (!name && n) throw error("A positional argument stands after a named one. Put named() ones last.");
            if (name) PyTuple_SET_ITEM(names.get(), n++, detail::checked(PyUnicode_InternFromString(name)));
        }
    }
    return steal(PyObject_Vectorcall(callee, arguments.all.data() + 1, (count - words) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                     names.get()));
}

/// A C++ value, or memory as its array, as the object that a call would pass.
template <class T> object as_object(const T &value)
{
    const gil hold;
    return object::steal(detail::converted(value));
}

template <class Key> object object::operator[](const Key &key) const
{
    const gil hold;
    const detail::local converted(detail::checked(detail::converted(key)));
    return steal(PyObject_GetItem(wanted(), converted.get()));
}

template <class T> T object::as() const
{
    const gil hold;
    PyObject *const value = wanted();
    if constexpr (std::is_same_v<T, bool>) {
        const int truth = PyObject_IsTrue(value);
        detail::checked(truth);
        return truth != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
        const double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) throw python_error::take();
        return static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
        const detail::local index(detail::checked(PyNumber_Index(value)));
        const auto number = [&] {
            if constexpr (std::is_signed_v<T>) return PyLong_AsLongLong(index.get());
            else return PyLong_AsUnsignedLongLong(index.get());
        }();
        if (PyErr_Occurred()) throw python_error::take();
        if (static_cast<decltype(number)>(static_cast<T>(number)) != number)
            throw error(std::to_string(number) + " does not fit into " + std::to_string(8 * sizeof(T)) +
                        " bits. Ask for a wider type.");
        return static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
        const Py_complex number = PyComplex_AsCComplex(value);
        if (PyErr_Occurred()) throw python_error::take();
        return {number.real, number.imag};
    } else {
        static_assert(std::is_same_v<T, std::string>, "as() gives bool, numbers, std::complex<double> and std::string");
        Py_ssize_t length = 0;
        const char *const text = PyUnicode_AsUTF8AndSize(value, &length);
        if (!text) throw python_error::take();
        return {text, static_cast<std::size_t>(length)};
    }
}

} // namespace ufunc_magic

#endif
