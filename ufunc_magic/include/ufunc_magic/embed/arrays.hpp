// Memory that Python owns, read and written by the program: it stays alive as long as the view of it.
#ifndef UFUNC_MAGIC_EMBED_ARRAYS_HPP
#define UFUNC_MAGIC_EMBED_ARRAYS_HPP

#include "object.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace ufunc_magic {

namespace detail {

/// Whether a format of the buffer protocol stands for one element of this type in this machine's byte order.
inline bool same(const char *format, std::size_t size, const element &wanted)
{
    const std::uint16_t probe = 1;
    const bool little = *reinterpret_cast<const unsigned char *>(&probe) == 1;
    if (!format) format = "B";
    if (*format == '@' || *format == '=' || *format == (little ? '<' : '>')) ++format;
    const std::string text(format);
    if (size != wanted.size || text.empty()) return false;
    if (text == wanted.format) return true;
    if (text.size() != 1 || (wanted.kind != 'i' && wanted.kind != 'u')) return false;
    const char *const letters = wanted.kind == 'i' ? "bhilqn" : "BHILQN"; // long and long long may be the same
    return std::string(letters).find(text) != std::string::npos;
}

/// "<f4" for element {'f', 4}.
inline bool same(const std::string &typestr, const element &wanted)
{
    return typestr.size() > 2 && typestr[0] != '>' && typestr.substr(1) == detail::typestr(wanted);
}

/// What a view knows beside its owner.
struct layout {
    extents shape, strides;
    bool contiguous(std::size_t size) const { return !count(shape) || strides == packed(shape, size); }
};

[[noreturn]] inline void wrong_type(const std::string &has, const element &wanted)
{
    throw error("An array of " + has + " is not one of " + typestr(wanted) +
                ". Ask for its own type, or convert it in Python: .astype(\"" + typestr(wanted) + "\").");
}

inline extents integers(PyObject *sequence)
{
    const local items(checked(PySequence_Fast(sequence, "a shape is a sequence of integers")));
    extents made(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get())));
    for (std::size_t n = 0; n < made.size(); ++n) {
        made[n] = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(n)));
        if (made[n] == -1 && PyErr_Occurred()) throw python_error::take();
    }
    return made;
}

} // namespace detail

/// A view of memory: where it is, its shape, and its strides in bytes.
template <class T> class array_view {
public:
    T *data() const { return start; }
    const extents &shape() const { return form.shape; }
    const extents &strides() const { return form.strides; }
    std::ptrdiff_t size() const { return detail::count(form.shape); }
    /// In C order without gaps: data()[0] to data()[size() - 1] are the elements.
    bool contiguous() const { return form.contiguous(sizeof(T)); }
    /// The pointer as an owner of the memory, for who keeps it longer than this view.
    std::shared_ptr<T> share() const { return {owner, start}; }

protected:
    array_view(std::shared_ptr<void> keeper, void *first, detail::layout known)
        : owner(std::move(keeper)), start(static_cast<T *>(first)), form(std::move(known))
    {
    }

    std::shared_ptr<void> owner;
    T *start;
    detail::layout form;
};

/// Host memory of a Python object.  Copies share it; the last one lets Python have it back.
template <class T> class host_array : public array_view<T> {
public:
    /// One element, by its index on every axis.  Indices are not checked.
    template <class... Index> T &at(Index... index) const
    {
        std::ptrdiff_t offset = 0;
        std::size_t axis = 0;
        ((offset += static_cast<std::ptrdiff_t>(index) * this->form.strides[axis++]), ...);
        return *reinterpret_cast<T *>(reinterpret_cast<std::uintptr_t>(this->start) + static_cast<std::uintptr_t>(offset));
    }

    /// Iteration over contiguous memory.
    T *begin() const
    {
        if (!this->contiguous())
            throw error("An array of shape " + detail::spelled(this->shape()) +
                        " that is not contiguous cannot be iterated. Use at(), or numpy.ascontiguousarray in Python.");
        return this->start;
    }
    T *end() const { return begin() + this->size(); }

private:
    friend class object;
    using array_view<T>::array_view;
};

/// Device memory of a Python object.  Work that makes it may still be running on the stream of the library it comes
/// from: wait for that stream, or stay on it.
template <class T> class device_array : public array_view<T> {
public:
    int device_id() const { return number; }

private:
    friend class object;
    device_array(std::shared_ptr<void> keeper, void *first, detail::layout known, int gpu)
        : array_view<T>(std::move(keeper), first, std::move(known)), number(gpu)
    {
    }
    int number;
};

template <class T> host_array<T> object::host() const
{
    using plain = std::remove_cv_t<T>;
    const element type = element_of<plain>::value();
    const gil hold;
    PyObject *const value = wanted();
    if (!PyObject_CheckBuffer(value)) {
        const char *const remedy = PyObject_HasAttrString(value, "__cuda_array_interface__")
                                       ? "It is in device memory: use device(), or .get() in Python."
                                       : "Return a NumPy array.";
        throw error(repr().substr(0, 80) + " has no host memory. " + remedy);
    }
    // Py_buffer may point into itself, so it stays in its place.
    auto held = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(value, held.get(), std::is_const_v<T> ? PyBUF_RECORDS_RO : PyBUF_RECORDS)) {
        PyErr_Clear();
        if (std::is_const_v<T> || PyObject_GetBuffer(value, held.get(), PyBUF_RECORDS_RO))
            throw python_error::take();
        PyBuffer_Release(held.get());
        throw error(repr().substr(0, 80) + " is read-only. Use host<const T>(), or .copy() in Python.");
    }
    const std::shared_ptr<Py_buffer> view(held.release(), [](Py_buffer *buffer) {
        if (detail::alive()) {
            const gil again; // any thread may be the last to use it
            PyBuffer_Release(buffer);
        }
        delete buffer;
    });
    if (!detail::same(view->format, static_cast<std::size_t>(view->itemsize), type))
        detail::wrong_type(std::string(view->format ? view->format : "B") + " (" + std::to_string(view->itemsize) +
                               " bytes)",
                           type);
    detail::layout form;
    form.shape.assign(view->shape, view->shape + view->ndim);
    form.strides.assign(view->strides, view->strides + view->ndim);
    return {view, view->buf, std::move(form)};
}

template <class T> device_array<T> object::device() const
{
    using plain = std::remove_cv_t<T>;
    const element type = element_of<plain>::value();
    const gil hold;
    PyObject *const value = wanted();
    const auto keeper = detail::shared(Py_NewRef(value));
    const object array = *this;
    detail::layout form;
    void *start = nullptr;
    std::string typestr;
    int number = 0;
    if (array.attr("__class__").attr("__module__").as<std::string>() == "cupy") {
        // CuPy asks the driver for what __cuda_array_interface__ says of streams: 3 us that nothing here needs.
        const object place = array.attr("data");
        start = reinterpret_cast<void *>(place.attr("ptr").as<std::uintptr_t>());
        number = place.attr("device_id").as<int>();
        typestr = array.attr("dtype").attr("str").as<std::string>();
        form.shape = detail::integers(array.attr("shape").get());
        form.strides = detail::integers(array.attr("strides").get());
    } else {
        if (!PyObject_HasAttrString(value, "__cuda_array_interface__"))
            throw error(repr().substr(0, 80) + " has no device memory. " +
                        (PyObject_CheckBuffer(value) ? "It is in host memory: use host()." : "Return a CuPy array."));
        const object told = array.attr("__cuda_array_interface__");
        start = reinterpret_cast<void *>(told["data"][0].as<std::uintptr_t>());
        if (!std::is_const_v<T> && told["data"][1].as<bool>())
            throw error("A device array is read-only. Use device<const T>(), or .copy() in Python.");
        typestr = told["typestr"].as<std::string>();
        form.shape = detail::integers(told["shape"].get());
        const object strides = told.attr("get")("strides");
        form.strides = strides.is_none() ? detail::packed(form.shape, type.size) : detail::integers(strides.get());
    }
    if (!detail::same(typestr, type)) detail::wrong_type(typestr, type);
    return {keeper, start, std::move(form), number};
}

} // namespace ufunc_magic

#endif
