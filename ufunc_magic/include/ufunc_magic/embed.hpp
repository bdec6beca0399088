// Python functions called from a C++17 program, with the program's own memory: nothing is copied either way.
//
//     #include <ufunc_magic/embed.hpp>
//     namespace um = ufunc_magic;
//
//     um::interpreter python;                                      // start Python, or join the one that runs
//     um::object blur = um::import("filters").attr("blur");        // any callable
//     um::object made = blur(um::host(pixels, {height, width}), 2.5, um::named("edge", "wrap"));
//     um::host_array<const float> out = made.host<const float>();  // the result's own memory, kept alive
//
// host() arrives as a NumPy array, device() as a CuPy array.  A Python exception is thrown as python_error, with
// its type, message and traceback.  Every function takes the GIL for as long as it needs it, from any thread.
//
// Needs Python.h of 3.11 or newer and libpython (CMake: find_package(Python COMPONENTS Development.Embed)); in a
// process that runs Python already (an extension module) it needs no libpython.
#ifndef UFUNC_MAGIC_EMBED_HPP
#define UFUNC_MAGIC_EMBED_HPP

#if !defined(_MSVC_LANG) && __cplusplus < 201703L
#error "ufunc_magic/embed.hpp needs C++17 (-std=c++17, or CXX_STANDARD 17)"
#endif

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000
#error "ufunc_magic/embed.hpp needs Python 3.11 or newer"
#endif

#include "embed/interpreter.hpp" // IWYU pragma: export
#include "embed/errors.hpp"      // IWYU pragma: export
#include "embed/memory.hpp"      // IWYU pragma: export
#include "embed/object.hpp"      // IWYU pragma: export
#include "embed/arrays.hpp"      // IWYU pragma: export

#endif
