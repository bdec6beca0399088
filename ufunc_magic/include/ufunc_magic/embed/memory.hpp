// The program's memory, on its way to Python: described, checked, and handed over without a copy.
#ifndef UFUNC_MAGIC_EMBED_MEMORY_HPP
#define UFUNC_MAGIC_EMBED_MEMORY_HPP

#include "errors.hpp"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ufunc_magic {

/// An element type as NumPy writes it: kind letter ("f"), bytes, and the format of the buffer protocol (PEP 3118).
struct element {
    char kind;
    std::size_t size;
    const char *format;
};

/// The element type of T; specialise it for types of your own, such as a 16-bit float.
template <class T> struct element_of {
    static_assert(std::is_arithmetic_v<T>, "no NumPy type stands for T: specialise ufunc_magic::element_of<T>");
    static constexpr element value()
    {
        if constexpr (std::is_same_v<T, bool>) return {'b', sizeof(T), "?"};
        else if constexpr (std::is_same_v<T, float>) return {'f', sizeof(T), "f"};
        else if constexpr (std::is_same_v<T, double>) return {'f', sizeof(T), "d"};
        else if constexpr (std::is_same_v<T, long double>) return {'f', sizeof(T), "g"};
        else if constexpr (std::is_signed_v<T>)
            return {'i', sizeof(T), sizeof(T) == 1 ? "b" : sizeof(T) == 2 ? "h" : sizeof(T) == 4 ? "i" : "q"};
        else return {'u', sizeof(T), sizeof(T) == 1 ? "B" : sizeof(T) == 2 ? "H" : sizeof(T) == 4 ? "I" : "Q"};
    }
};
template <class T> struct element_of<std::complex<T>> {
    static constexpr element value()
    {
        return {'c', 2 * sizeof(T), std::is_same_v<T, float> ? "Zf" : std::is_same_v<T, double> ? "Zd" : "Zg"};
    }
};

using extents = std::vector<std::ptrdiff_t>;

namespace detail {

inline std::string spelled(const extents &values)
{
    std::string made = "(";
    for (std::size_t n = 0; n < values.size(); ++n) made += (n ? ", " : "") + std::to_string(values[n]);
    return made + (values.size() == 1 ? ",)" : ")");
}

/// Bytes from one element to the next along each axis, the last axis varying fastest.
inline extents packed(const extents &shape, std::size_t size)
{
    extents strides(shape.size());
    auto step = static_cast<std::ptrdiff_t>(size);
    for (std::size_t n = shape.size(); n--;) {
        strides[n] = step;
        step *= shape[n];
    }
    return strides;
}

/// The same with the first axis varying fastest.
inline extents packed_first(const extents &shape, std::size_t size)
{
    extents strides(shape.size());
    auto step = static_cast<std::ptrdiff_t>(size);
    for (std::size_t n = 0; n < shape.size(); step *= shape[n++]) strides[n] = step;
    return strides;
}

inline std::ptrdiff_t count(const extents &shape)
{
    std::ptrdiff_t product = 1;
    for (const auto extent : shape) product *= extent;
    return product;
}

} // namespace detail

/// Memory of the program as an argument: made by host() and device().
///
/// Python gets at the memory itself.  Without an owner the caller keeps it until Python has let go of the array and
/// of everything that looks into it, which is the end of the call unless the function stores or returns it.  With an
/// owner, Python's last look releases it.
class memory {
public:
    memory(void *start, element elements, extents form, bool constant, int gpu)
        : data(start), type(elements), shape(std::move(form)), strides(detail::packed(shape, type.size)),
          readonly(constant), device_id(gpu)
    {
        for (const auto extent : shape)
            if (extent < 0) fault("has a negative extent", "Give every axis its number of elements.");
        if (shape.size() > 64) fault("has more than 64 axes", "NumPy has no such arrays.");
        if (!data && detail::count(shape)) fault("is a null pointer", "Give it memory before the call.");
    }

    /// Bytes from one element to the next along each axis: other orders, gaps, reversed axes.  C order if never given.
    memory strided(extents bytes) &&
    {
        if (bytes.size() != shape.size())
            fault("has " + std::to_string(bytes.size()) + " strides", "Give one stride, in bytes, for each axis.");
        strides = std::move(bytes);
        return std::move(*this);
    }

    /// Fortran's order: the first axis varies fastest.
    memory fortran() &&
    {
        strides = detail::packed_first(shape, type.size);
        return std::move(*this);
    }

    /// Keeps ``owner`` alive as long as Python looks into the memory, and no longer.
    memory owned_by(std::shared_ptr<const void> keeper) &&
    {
        owner = std::move(keeper);
        return std::move(*this);
    }

    /// The NumPy or CuPy array over the memory: a new reference.  With the GIL.
    PyObject *to_python() const;

    void *data;
    element type;
    extents shape, strides;
    bool readonly;
    int device_id; // -1: host memory
    std::shared_ptr<const void> owner;

private:
    [[noreturn]] void fault(const std::string &what, const std::string &remedy) const
    {
        throw error("Memory of shape " + detail::spelled(shape) + " " + what + ". " + remedy);
    }
};

namespace detail {

template <class T> memory described(T *data, extents shape, int device_id)
{
    using plain = std::remove_cv_t<T>;
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(plain))
        throw error("The pointer is not aligned to " + std::to_string(alignof(plain)) +
                    " bytes as its type wants. Copy the data to an aligned place.");
    return {const_cast<plain *>(data), element_of<plain>::value(), std::move(shape), std::is_const_v<T>, device_id};
}

} // namespace detail

/// Host memory: a NumPy array for the function that is called.  Read-only if T is const.
template <class T> memory host(T *data, extents shape) { return detail::described(data, std::move(shape), -1); }

/// Device memory: a CuPy array for the function that is called.  CuPy has no read-only arrays, so const is the
/// function's own promise.  What it starts on the GPU runs on CuPy's current stream.
template <class T> memory device(T *data, extents shape, int device_id = 0)
{
    return detail::described(data, std::move(shape), device_id);
}

namespace detail {

/// The Python object behind an array: it holds a `memory`, and gives it away by the buffer protocol (host) or as
/// ``__cuda_array_interface__`` (device).
struct exporter {
    PyObject_HEAD
    memory *held;
};

inline const memory &held(PyObject *self) { return *reinterpret_cast<exporter *>(self)->held; }

inline void exporter_dealloc(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    delete reinterpret_cast<exporter *>(self)->held;
    type->tp_free(self);
    Py_DECREF(type);
}

inline int exporter_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    const memory &m = held(self);
    const auto asks = [flags](int what) { return (flags & what) == what; };
    const auto c_order = [&m] { return m.strides == packed(m.shape, m.type.size); };
    const auto f_order = [&m] { return m.strides == packed_first(m.shape, m.type.size); };
    const char *fault = nullptr;
    if (m.device_id >= 0) fault = "device memory has no buffer on the host";
    else if ((flags & PyBUF_WRITABLE) && m.readonly) fault = "the memory is const in C++";
    else if ((!asks(PyBUF_STRIDES) || asks(PyBUF_C_CONTIGUOUS)) && !c_order()) fault = "the memory is not in C order";
    else if (asks(PyBUF_F_CONTIGUOUS) && !f_order()) fault = "the memory is not in Fortran's order";
    else if (asks(PyBUF_ANY_CONTIGUOUS) && !c_order() && !f_order()) fault = "the memory is not contiguous";
    view->obj = nullptr;
    if (fault) {
        PyErr_SetString(PyExc_BufferError, fault);
        return -1;
    }
    view->buf = m.data;
    view->len = count(m.shape) * static_cast<Py_ssize_t>(m.type.size);
    view->itemsize = static_cast<Py_ssize_t>(m.type.size);
    view->readonly = m.readonly;
    view->ndim = static_cast<int>(m.shape.size());
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char *>(m.type.format) : nullptr;
    // Py_ssize_t is a ptrdiff_t wherever Python runs, and nobody writes to them.
    view->shape = (flags & PyBUF_ND) ? const_cast<Py_ssize_t *>(m.shape.data()) : nullptr;
    view->strides = asks(PyBUF_STRIDES) ? const_cast<Py_ssize_t *>(m.strides.data()) : nullptr;
    view->suboffsets = nullptr;
    view->internal = nullptr;
    Py_INCREF(self);
    view->obj = self;
    return 0;
}

inline PyObject *tuple(const extents &values)
{
    local made(checked(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
    for (std::size_t n = 0; n < values.size(); ++n)
        PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(n), checked(PyLong_FromSsize_t(values[n])));
    return made.release();
}

inline std::string typestr(const element &type) { return type.kind + std::to_string(type.size); }

/// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3.
inline PyObject *exporter_interface(PyObject *self, void *)
{
    const memory &m = held(self);
    if (m.device_id < 0) {
        PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__");
        return nullptr;
    }
    try {
        const local shape(tuple(m.shape)), strides(tuple(m.strides));
        const std::string type = (m.type.size > 1 ? "<" : "|") + typestr(m.type);
        return Py_BuildValue("{s:O,s:O,s:s,s:(NO),s:i,s:O}", "shape", shape.get(), "strides", strides.get(), "typestr",
                             type.c_str(), "data", PyLong_FromVoidPtr(m.data), m.readonly ? Py_True : Py_False,
                             "version", 3, "stream", Py_None);
    } catch (const python_error &fault) {
        fault.restore();
        return nullptr;
    }
}

inline PyObject *memory_type()
{
    if (known().memory_type) return found.memory_type;
    static PyGetSetDef attributes[] = {
        {"__cuda_array_interface__", exporter_interface, nullptr, "Where the device memory is.", nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(exporter_dealloc)},
                                  {Py_bf_getbuffer, reinterpret_cast<void *>(exporter_getbuffer)},
                                  {Py_tp_getset, attributes},
                                  {Py_tp_doc, const_cast<char *>("Memory of the C++ program around this Python.")},
                                  {0, nullptr}};
    static PyType_Spec spec = {"ufunc_magic.embed.Memory", sizeof(exporter), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return found.memory_type = checked(PyType_FromSpec(&spec));
}

/// An attribute of a module, looked up once per interpreter.
inline PyObject *once(PyObject *&place, const char *module, const char *name)
{
    if (place) return place;
    const local loaded(checked(PyImport_ImportModule(module)));
    return place = checked(PyObject_GetAttrString(loaded.get(), name));
}

/// A CuPy array: public constructors that ask no driver when the device is named.
inline PyObject *device_array(const memory &m, PyObject *keeper)
{
    PyObject *const unowned = once(known().unowned_memory, "cupy.cuda", "UnownedMemory");
    PyObject *const pointer = once(known().memory_pointer, "cupy.cuda", "MemoryPointer");
    PyObject *const array = once(known().device_array, "cupy", "ndarray");
    std::ptrdiff_t span = detail::count(m.shape) ? static_cast<std::ptrdiff_t>(m.type.size) : 0;
    for (std::size_t n = 0; span && n < m.shape.size(); ++n)
        span += (m.shape[n] - 1) * (m.strides[n] < 0 ? -m.strides[n] : m.strides[n]);
    const auto address = reinterpret_cast<std::uintptr_t>(m.data);
    const local owned(checked(PyObject_CallFunction(unowned, "KnOi", static_cast<unsigned long long>(address),
                                                    static_cast<Py_ssize_t>(span), keeper, m.device_id)));
    const local start(checked(PyObject_CallFunction(pointer, "Oi", owned.get(), 0)));
    const local shape(tuple(m.shape)), strides(tuple(m.strides));
    return checked(PyObject_CallFunction(array, "OsOO", shape.get(), typestr(m.type).c_str(), start.get(),
                                         strides.get()));
}

} // namespace detail

inline PyObject *memory::to_python() const
{
    auto *const made_of = reinterpret_cast<PyTypeObject *>(detail::memory_type());
    const detail::local made(detail::checked(made_of->tp_alloc(made_of, 0)));
    reinterpret_cast<detail::exporter *>(made.get())->held = new memory(*this);
    if (device_id >= 0) return detail::device_array(*this, made.get());
    return detail::checked(PyObject_CallOneArg(detail::once(detail::known().asarray, "numpy", "asarray"), made.get()));
}

} // namespace ufunc_magic

#endif
