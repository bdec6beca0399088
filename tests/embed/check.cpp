// What embed.hpp promises, one check each: check [NAME ...] prints "ok NAME" or "FAILED NAME: why".
// check calls COUNT: as many calls of every kind, for whoever counts what is left behind.
#include <ufunc_magic/embed.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

namespace um = ufunc_magic;

namespace {

struct failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

#define WANT(condition) \
    do { \
        if (!(condition)) throw failed(std::to_string(__LINE__) + ": " #condition); \
    } while (0)

#define EQUAL(value, wanted) \
    do { \
        std::ostringstream has, wants; \
        has << (value); \
        wants << (wanted); \
        if (has.str() != wants.str()) throw failed(std::to_string(__LINE__) + ": " + has.str() + " is not " + wants.str()); \
    } while (0)

/// What `act` throws, as text; "nothing" where it throws nothing.
template <class Act> std::string thrown(Act act)
{
    try {
        act();
    } catch (const um::error &fault) {
        return fault.what();
    }
    return "nothing";
}

um::object module;
um::object function(const char *name) { return module[name]; }

const char *const statements = R"(
import gc, sys
import numpy as np

def same(x): return x
def scale(a, by=2):
    a *= by
def describe(a): return f"{a.dtype.str} {a.shape} {a.strides} {a.flags.writeable} {a.ctypes.data % a.dtype.alignment}"
def total(a): return float(a.sum())
def listed(a): return str(a.tolist())
def words(*args, **named): return repr((args, named))
def fail(): raise ZeroDivisionError("by nought")
def deep():
    try:
        fail()
    except ZeroDivisionError as e:
        raise KeyError("outer") from e
def leave(): raise SystemExit(3)
kept = []
def keep(a): kept.append(a[1:])
def drop(): kept.clear()
def frozen():
    a = np.arange(3.0)
    a.flags.writeable = False
    return a
def made(n): return np.arange(n, dtype="f8")
class Device:
    def __init__(self, a, readonly=False): self.a, self.readonly = a, readonly
    @property
    def __cuda_array_interface__(self):
        return dict(shape=self.a.shape, strides=None, typestr=self.a.dtype.str, version=3,
                    data=(self.a.ctypes.data, self.readonly))
def blocks():
    gc.collect()
    return sys.getallocatedblocks()
)";

/// The last one of these tells that it went.
std::shared_ptr<float> watched(std::size_t count, std::atomic<int> &gone)
{
    return {new float[count](), [&gone](float *memory) {
                delete[] memory;
                ++gone;
            }};
}

void host_memory_is_worked_on_in_place()
{
    std::vector<float> v{1, 2, 3, 4, 5, 6};
    function("scale")(um::host(v.data(), {2, 3}));
    EQUAL(v[5], 12);
    function("scale")(um::host(v.data(), {6}), um::named("by", 0.5));
    EQUAL(v[5], 6);
}

void what_comes_back_is_the_same_memory()
{
    std::vector<std::int32_t> v{1, 2, 3, 4};
    const auto back = function("same")(um::host(v.data(), {2, 2})).host<std::int32_t>();
    WANT(back.data() == v.data());
    WANT(back.contiguous());
    EQUAL(back.at(1, 0), 3);
    EQUAL(back.size(), 4);
}

void strides_are_taken_both_ways()
{
    std::vector<double> v{1, 2, 3, 4, 5, 6};
    EQUAL(function("listed")(um::host(v.data(), {2, 3}).fortran()).as<std::string>(), "[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]");
    EQUAL(function("listed")(um::host(v.data() + 5, {3}).strided({-16})).as<std::string>(), "[6.0, 4.0, 2.0]");
    const auto back = function("same")(um::host(v.data() + 5, {3}).strided({-16})).host<double>();
    EQUAL(back.at(2), 2);
    EQUAL(back.strides()[0], -16);
    WANT(!back.contiguous());
    EQUAL(thrown([&] { back.begin(); }), "An array of shape (3,) that is not contiguous cannot be iterated. Use at(), "
                                         "or numpy.ascontiguousarray in Python.");
}

/// Whether what holds the memory behind an array lends it in the order that the flag asks for.
bool lends(const um::object &array, int flag)
{
    const um::object holder = array.attr("base").attr("obj");
    const um::gil hold;
    Py_buffer view;
    if (PyObject_GetBuffer(holder.get(), &view, flag)) {
        PyErr_Clear();
        return false;
    }
    PyBuffer_Release(&view);
    return true;
}

void who_asks_for_an_order_gets_no_other()
{
    std::vector<double> v(6);
    const um::object c = um::as_object(um::host(v.data(), {2, 3}));
    const um::object fortran = um::as_object(um::host(v.data(), {2, 3}).fortran());
    const um::object gaps = um::as_object(um::host(v.data(), {3}).strided({16}));
    WANT(lends(c, PyBUF_C_CONTIGUOUS) && !lends(c, PyBUF_F_CONTIGUOUS) && lends(c, PyBUF_ANY_CONTIGUOUS));
    WANT(lends(fortran, PyBUF_F_CONTIGUOUS) && lends(fortran, PyBUF_ANY_CONTIGUOUS));
    WANT(!lends(fortran, PyBUF_C_CONTIGUOUS) && !lends(fortran, PyBUF_SIMPLE));
    WANT(lends(gaps, PyBUF_STRIDES) && !lends(gaps, PyBUF_ANY_CONTIGUOUS));
}

void arrays_without_elements_or_axes()
{
    float one = 7;
    EQUAL(function("same")(um::host(&one, {})).host<float>().at(), 7);
    EQUAL(function("same")(um::host(static_cast<float *>(nullptr), {0, 3})).host<float>().size(), 0);
}

template <class T> void has_type(const char *wanted)
{
    std::vector<T> v(2);
    const um::object array = um::as_object(um::host(v.data(), {2}));
    EQUAL(array.attr("dtype").attr("str").as<std::string>(), wanted);
    WANT(array.host<T>().data() == v.data());
}

void every_arithmetic_type()
{
    char flags[2] = {1, 0};
    EQUAL(function("listed")(um::host(reinterpret_cast<bool *>(flags), {2})).as<std::string>(), "[True, False]");
    has_type<signed char>("|i1");
    has_type<unsigned char>("|u1");
    has_type<char>(std::is_signed_v<char> ? "|i1" : "|u1");
    has_type<short>("<i2");
    has_type<unsigned short>("<u2");
    has_type<int>("<i4");
    has_type<unsigned>("<u4");
    has_type<long>(sizeof(long) == 8 ? "<i8" : "<i4");
    has_type<unsigned long>(sizeof(long) == 8 ? "<u8" : "<u4");
    has_type<long long>("<i8");
    has_type<unsigned long long>("<u8");
    has_type<float>("<f4");
    has_type<double>("<f8");
    has_type<std::complex<float>>("<c8");
    has_type<std::complex<double>>("<c16");
    has_type<long double>(("<f" + std::to_string(sizeof(long double))).c_str());
}

void const_memory_is_read_only_in_python()
{
    const std::vector<float> v{1, 2, 3};
    EQUAL(thrown([&] { function("scale")(um::host(v.data(), {3})); }), "ValueError: output array is read-only");
    EQUAL(function("same")(um::host(v.data(), {3})).host<const float>().at(2), 3);
    WANT(thrown([&] { function("same")(um::host(v.data(), {3})).host<float>(); }).find("is read-only. Use host<const T>()") !=
         std::string::npos);
}

void an_owner_lives_as_long_as_python_looks()
{
    std::atomic<int> gone{0};
    auto memory = watched(4, gone);
    function("keep")(um::host(memory.get(), {4}).owned_by(memory));
    memory.reset();
    EQUAL(gone, 0);
    function("drop")();
    EQUAL(gone, 1);
    memory = watched(4, gone);
    function("same")(um::host(memory.get(), {4}).owned_by(memory));
    EQUAL(memory.use_count(), 1);
}

void a_result_lives_as_long_as_its_view()
{
    um::object array = function("made")(1000);
    auto view = array.host<double>();
    array = um::object();
    function("made")(1000);
    EQUAL(view.at(999), 999);
    const std::shared_ptr<double> shared = view.share();
    view = function("made")(10).host<double>();
    EQUAL(shared.get()[999], 999);
    EQUAL(view.size(), 10);
}

void values_of_every_kind_are_arguments()
{
    const std::string text = "grün";
    EQUAL(function("words")(1, -2L, 3U, 0.5F, true, nullptr, "abc", text, um::as_object(9), std::complex<double>(1, 2))
              .as<std::string>(),
          "((1, -2, 3, 0.5, True, None, 'abc', 'grün', 9, (1+2j)), {})");
    EQUAL(function("words")(1, um::named("a", 2), um::named("b", "c")).as<std::string>(), "((1,), {'a': 2, 'b': 'c'})");
    EQUAL(function("words")(18446744073709551615ULL).as<std::string>(), "((18446744073709551615,), {})");
    EQUAL(thrown([] { function("words")(um::named("a", 2), 1); }),
          "A positional argument stands after a named one. Put named() ones last.");
}

void values_of_every_kind_come_back()
{
    const um::object same = function("same");
    EQUAL(same(-5).as<int>(), -5);
    EQUAL(same(0.25).as<double>(), 0.25);
    EQUAL(same("grün").as<std::string>(), "grün");
    WANT(same(std::complex<double>(1, 2)).as<std::complex<double>>() == std::complex<double>(1, 2));
    WANT(same(true).as<bool>() && !same(0).as<bool>());
    WANT(same(nullptr).is_none());
    EQUAL(thrown([&] { same(300).as<unsigned char>(); }), "300 does not fit into 8 bits. Ask for a wider type.");
    WANT(thrown([&] { same(-1).as<unsigned>(); }).find("OverflowError") == 0);
    EQUAL(thrown([&] { same("x").as<int>(); }), "TypeError: 'str' object cannot be interpreted as an integer");
    EQUAL(um::import("numpy").attr("pi").as<float>(), 3.14159F);
    EQUAL(um::import("sys").attr("version_info")[0].as<int>(), 3);
}

void exceptions_keep_type_message_and_traceback()
{
    try {
        function("deep")();
        throw failed("nothing was thrown");
    } catch (const um::python_error &fault) {
        EQUAL(fault.what(), std::string("KeyError: 'outer'"));
        EQUAL(fault.type(), "KeyError");
        EQUAL(fault.message(), "'outer'");
        WANT(fault.traceback().find("in fail") != std::string::npos);
        WANT(fault.traceback().find("ZeroDivisionError: by nought") != std::string::npos);
        WANT(fault.is(PyExc_LookupError) && !fault.is(PyExc_ArithmeticError));
    }
    EQUAL(thrown([] { function("leave")(); }), "SystemExit: 3");
    EQUAL(thrown([] { um::import("no_such_module"); }), "ModuleNotFoundError: No module named 'no_such_module'");
    const um::gil hold;
    WANT(!PyErr_Occurred());
}

void an_exception_can_be_handed_back_to_python()
{
    const um::gil hold;
    try {
        function("fail")();
    } catch (const um::python_error &fault) {
        fault.restore();
    }
    WANT(PyErr_ExceptionMatches(PyExc_ZeroDivisionError));
    PyErr_Clear();
}

void wrong_memory_is_refused_with_a_remedy()
{
    alignas(8) char raw[24] = {};
    float *const null = nullptr;
    double *const odd = reinterpret_cast<double *>(raw + 1);
    EQUAL(thrown([&] { um::host(null, {3}); }),
          "Memory of shape (3,) is a null pointer. Give it memory before the call.");
    EQUAL(thrown([&] { um::host(odd, {1}); }),
          "The pointer is not aligned to 8 bytes as its type wants. Copy the data to an aligned place.");
    EQUAL(thrown([&] { um::host(raw, {-1}); }),
          "Memory of shape (-1,) has a negative extent. Give every axis its number of elements.");
    EQUAL(thrown([&] { um::host(raw, {2, 2}).strided({1}); }),
          "Memory of shape (2, 2) has 1 strides. Give one stride, in bytes, for each axis.");
    EQUAL(thrown([] { function("made")(3).host<float>(); }),
          "An array of d (8 bytes) is not one of f4. Ask for its own type, or convert it in Python: .astype(\"f4\").");
    EQUAL(thrown([] { function("same")(5).host<float>(); }), "5 has no host memory. Return a NumPy array.");
    EQUAL(thrown([] { um::object()(); }),
          "This object is empty. Give it a value, with import() for instance, before its use.");
    WANT(thrown([] { function("frozen")().host<double>(); }).find("is read-only.") != std::string::npos);
}

void device_memory_goes_to_cupy_and_back()
{
    std::vector<float> v{1, 2, 3, 4, 5, 6}; // host memory: the stand-in for CuPy looks at nothing but the pointer
    std::atomic<int> gone{0};
    const auto back = function("same")(um::device(v.data(), {2, 3})).device<float>();
    WANT(back.data() == v.data());
    EQUAL(back.shape()[1], 3);
    EQUAL(back.device_id(), 0);
    function("scale")(um::device(v.data() + 5, {3}).strided({-8}));
    EQUAL(v[1], 4);
    EQUAL(v[0], 1);
    auto memory = watched(4, gone);
    function("keep")(um::device(memory.get(), {4}).owned_by(memory));
    memory.reset();
    EQUAL(gone, 0);
    function("drop")();
    EQUAL(gone, 1);
}

void device_memory_of_any_library_comes_back()
{
    const um::object array = function("made")(6);
    const um::object other = function("Device")(array);
    const auto view = other.device<double>();
    WANT(view.data() == array.host<double>().data());
    EQUAL(view.strides()[0], 8);
    WANT(thrown([&] { other.device<float>(); }).find("An array of <f8 is not one of f4.") == 0);
    EQUAL(thrown([&] { function("Device")(array, true).device<double>(); }),
          "A device array is read-only. Use device<const T>(), or .copy() in Python.");
    WANT(thrown([&] { other.host<double>(); }).find("It is in device memory: use device()") != std::string::npos);
    WANT(thrown([&] { array.device<double>(); }).find("It is in host memory: use host().") != std::string::npos);
}

void threads_call_at_once()
{
    std::atomic<int> wrong{0};
    const um::object total = function("total"), fail = function("fail");
    const auto work = [&](int n, bool stay) {
        std::unique_ptr<um::attached> here;
        if (stay) here = std::make_unique<um::attached>();
        std::vector<double> v(100, n);
        for (int k = 0; k < 50; ++k) {
            const um::object mine = total;
            wrong += mine(um::host(v.data(), {100})).as<double>() != 100.0 * n;
            wrong += thrown([&] { fail(); }) != "ZeroDivisionError: by nought";
        }
    };
    std::vector<std::thread> threads;
    for (int n = 0; n < 8; ++n) threads.emplace_back(work, n, n % 2 == 0);
    for (auto &thread : threads) thread.join();
    EQUAL(wrong, 0);
}

void a_view_may_end_in_another_thread()
{
    std::atomic<int> gone{0};
    auto memory = watched(4, gone);
    auto view = std::make_unique<um::host_array<float>>(
        function("same")(um::host(memory.get(), {4}).owned_by(memory)).host<float>());
    memory.reset();
    EQUAL(gone, 0);
    std::thread([&] { view.reset(); }).join();
    EQUAL(gone, 1);
}

void a_second_interpreter_joins_the_first()
{
    {
        const um::interpreter again;
        EQUAL(function("same")(1).as<int>(), 1);
    }
    WANT(Py_IsInitialized());
    EQUAL(function("same")(2).as<int>(), 2);
    std::thread([] {
        const um::interpreter there;
        EQUAL(function("same")(3).as<int>(), 3);
    }).join();
    EQUAL(function("same")(4).as<int>(), 4);
}

void the_gil_is_let_go_between_calls()
{
    WANT(!PyGILState_Check());
    function("same")(1);
    WANT(!PyGILState_Check());
    thrown([] { function("fail")(); });
    WANT(!PyGILState_Check());
    const um::gil hold;
    const um::released away;
    std::thread([] { function("same")(1); }).join(); // would wait for ever
}

void calls(long count)
{
    std::vector<float> v(100, 1);
    const um::object scale = function("scale"), same = function("same"), fail = function("fail");
    const auto all = [&] {
        scale(um::host(v.data(), {10, 10}), um::named("by", 1));
        const auto view = same(um::host(v.data(), {100}).owned_by(std::make_shared<int>(1))).host<float>();
        same(um::device(v.data(), {100})).device<float>();
        same("text").as<std::string>();
        thrown([&] { fail(); });
        thrown([&] { same(um::host(v.data(), {100})).host<double>(); });
        thrown([&] { same(5).host<double>(); });
        thrown([&] { same(um::host(v.data(), {100}), um::named("nothing", 1)); });
    };
    for (int n = 0; n < 50; ++n) all();
    const long before = function("blocks")().as<long>();
    for (long n = 0; n < count; ++n) all();
    std::printf("%ld blocks more\n", function("blocks")().as<long>() - before);
}

#define CHECK(name) {#name, name}
const std::map<std::string, std::function<void()>> checks = {
    CHECK(host_memory_is_worked_on_in_place),
    CHECK(what_comes_back_is_the_same_memory),
    CHECK(strides_are_taken_both_ways),
    CHECK(who_asks_for_an_order_gets_no_other),
    CHECK(arrays_without_elements_or_axes),
    CHECK(every_arithmetic_type),
    CHECK(const_memory_is_read_only_in_python),
    CHECK(an_owner_lives_as_long_as_python_looks),
    CHECK(a_result_lives_as_long_as_its_view),
    CHECK(values_of_every_kind_are_arguments),
    CHECK(values_of_every_kind_come_back),
    CHECK(exceptions_keep_type_message_and_traceback),
    CHECK(an_exception_can_be_handed_back_to_python),
    CHECK(wrong_memory_is_refused_with_a_remedy),
    CHECK(device_memory_goes_to_cupy_and_back),
    CHECK(device_memory_of_any_library_comes_back),
    CHECK(threads_call_at_once),
    CHECK(a_view_may_end_in_another_thread),
    CHECK(a_second_interpreter_joins_the_first),
    CHECK(the_gil_is_let_go_between_calls),
};

int check(const std::string &name)
{
    try {
        checks.at(name)();
        std::printf("ok %s\n", name.c_str());
        return 0;
    } catch (const std::exception &fault) {
        std::printf("FAILED %s: %s\n", name.c_str(), fault.what());
        return 1;
    }
}

} // namespace

int main(int count, char **words)
{
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    um::start_options options;
    options.executable = PYTHON_EXECUTABLE;
    static um::object outlives; // destroyed after the interpreter has ended
    um::host_array<double> *view = nullptr;
    int bad = 0;
    {
        const um::interpreter python(options);
        module = um::run(statements);
        outlives = module["same"];
        view = new um::host_array<double>(module["made"](3).host<double>());
        if (count > 2 && !std::strcmp(words[1], "calls")) calls(std::atol(words[2]));
        else if (count > 1)
            for (int n = 1; n < count; ++n) bad += check(words[n]);
        else
            for (const auto &one : checks) bad += check(one.first);
        module = um::object();
        if (!um::interpreter::started()) bad += 1;
    }
    delete view;
    outlives = um::object();
    std::printf("ended\n");
    {
        const um::interpreter again(options); // without NumPy, which does not load twice
        std::printf("%d again\n", um::import("sys").attr("version_info")[0].as<int>());
    }
    return bad;
}
