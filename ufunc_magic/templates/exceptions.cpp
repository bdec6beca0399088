/* An exception of C++ that leaves a cell, as one of Python's.  Compiled once per compiler: <stdexcept> would cost each cell
   more than all of its loops. */
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <stdexcept>
#include <string>
#include <typeinfo>

extern "C" {
__attribute__((visibility("hidden"))) void __ufm_fail(const char *);
__attribute__((visibility("hidden"))) void __ufm_fail_as(void *, const char *);
__attribute__((visibility("hidden"))) void __ufm_fail_thrown(void);
/* The classes of Python that they become, in the order of model/errors.py, filled in by runtime/loader.py; NULL: RuntimeError. */
#ifdef _WIN32
__attribute__((dllexport))
#else
__attribute__((visibility("default")))
#endif
void *__ufm_exceptions[8];
}

static std::string name_of(const std::type_info *type)
{
    int status = 0;
    char *name = type ? abi::__cxa_demangle(type->name(), nullptr, nullptr, &status) : nullptr;
    const std::string text = name ? name : type ? type->name() : "a type without a name";
    std::free(name);
    return text;
}

/* In a handler: the exception that it has caught. */
void __ufm_fail_thrown(void)
{
    try {
        try {
            throw;
        }$handlers catch (const std::exception &e) {
            const std::string text = e.what(), name = name_of(&typeid(e));
            __ufm_fail((name == "std::runtime_error" || name == text ? text : name + ": " + text).c_str());
        } catch (...) {
            const std::string name = name_of(abi::__cxa_current_exception_type());
            __ufm_fail(("the C++ function threw an object of type " + name + ", which is no std::exception").c_str());
        }
    } catch (...) {
        __ufm_fail("a C++ exception, and there is no memory for its name");
    }
}
