"""--parallel, --strict, --fast-math, --arch, and what a second build of the same cell does, in C and in Cython."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import multiprocessing
import operator
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

SOURCE = """
#include <math.h>
// ufunc: identity=0
double add(double a, double b) { return a + b; }
double wave(double x) { return exp(x) + pow(x, 2.5); }
double inverse(double x) { return 1 / x; }
"""
X = np.random.default_rng(0).uniform(0.01, 2, 300_000)


@pytest.fixture(scope="module")
def two(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, parallel=2)


def test_threads_change_no_bit(two: Build) -> None:
    with two.threads(1):
        alone = two.wave(X)
    np.testing.assert_array_equal(two.wave(X), alone)
    np.testing.assert_array_equal(two.wave(X[::3]), alone[::3])
    np.testing.assert_array_equal(two.add(X, 2.0), X + 2)


def test_threads_keep_the_order_that_reduce_accumulate_and_overlap_need(two: Build) -> None:
    total = 0.0
    for value in X.tolist():
        total += value
    assert two.add.reduce(X) == total
    np.testing.assert_array_equal(two.add.accumulate(X), np.add.accumulate(X))
    mine, numpys = X.copy(), X.copy()
    two.add(mine[1:], mine[:-1], out=mine[1:])
    np.add(numpys[1:], numpys[:-1], out=numpys[1:])
    np.testing.assert_array_equal(mine, numpys)
    in_place = X.copy()
    two.add(in_place, 1.0, out=in_place)
    np.testing.assert_array_equal(in_place, X + 1)


def test_a_thread_reports_the_warning_of_its_own_part(two: Build) -> None:
    x = X.copy()
    x[-7] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in inverse"):
        two.inverse(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two.inverse(X)


def _child(build: Build, answers: Any) -> None:
    answers.put(float(build.wave(X).sum()))


@pytest.mark.skipif(not hasattr(multiprocessing, "get_context") or sys.platform == "win32", reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of fork in a process with threads
def test_a_forked_child_does_not_wait_for_threads_it_does_not_have(two: Build) -> None:
    expected = float(two.wave(X).sum())
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_child, args=(two, answers))
    child.start()
    assert answers.get(timeout=300) == expected
    child.join(300)
    assert child.exitcode == 0


FORMULA = "double f(double x, double y) { return x < 0.5 ? 4*x*y + exp(-x) : log(x)*y + pow(x, y); }"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compile the plain loop with")
def test_strict_gives_the_bits_of_a_plain_scalar_call(tmp_path: Path) -> None:
    source = f"#include <math.h>\n{FORMULA}"
    library = tmp_path / "plain.so"
    # Contraction is what machines with FMA in all of their CPUs have otherwise.
    command = ["gcc", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-lm"]
    subprocess.run(command, input=source.encode(), check=True)
    plain = ctypes.CDLL(str(library)).f
    plain.restype, plain.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    x, y = X[:3000], X[3000:6000]
    assert um.compile_c(source, strict=True).f(x, y).tolist() == [plain(a, b) for a, b in zip(x, y, strict=True)]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="clang's trunc() of a cast is another matter")
def test_strict_keeps_the_signs_of_zeros_and_the_square_root_of_minus_infinity() -> None:
    made = um.compile_c(
        "#include <math.h>\ndouble whole(double x) { return (double)(int)x; }\n"
        "double root(double x) { return pow(x, 0.5); }\n",
        strict=True,
    )
    x = np.full(64, -0.25)
    assert not np.signbit(made.whole(x)).any()
    assert not np.signbit(made.root(-0.0 * x)).any()
    assert (made.root(np.full(64, -np.inf)) == np.inf).all()


def test_a_cell_may_define_what_gcc_makes_of_other_calls() -> None:
    made = um.compile_c("#include <math.h>\nlong lround(double x) { return (long)round(x); }")
    assert made.lround(2.5) == 3


def _raised(function: Any, *arguments: Any) -> set[str]:
    kinds: set[str] = set()
    with np.errstate(all="call", call=lambda kind, _: kinds.add(kind)):
        function(*arguments)
    return kinds


@pytest.mark.parametrize("count", [1, 8, 33])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("log", (0.0,), {"divide by zero"}),
        ("log", (-1.0,), {"invalid value"}),
        ("log", (-np.inf,), {"invalid value"}),
        ("log", (np.inf,), set()),
        ("log", (np.nan,), set()),
        ("sqrt", (-1.0,), {"invalid value"}),
        ("tgamma", (0.0,), {"divide by zero"}),
        ("tgamma", (-2.0,), {"invalid value"}),
        ("tgamma", (200.0,), {"overflow"}),
        ("exp", (710.0,), {"overflow"}),
        ("exp", (-np.inf,), set()),
        ("pow", (0.0, -1.0), {"divide by zero"}),
        ("pow", (-0.0, -3.0), {"divide by zero"}),
        ("pow", (-8.0, 1 / 3), {"invalid value"}),
        ("pow", (1e300, 2.0), {"overflow"}),
        ("pow", (0.0, 2.0), set()),
        ("pow", (np.inf, -1.0), set()),
        ("pow", (-2.0, 3.0), set()),
        ("pow", (0.0, -np.inf), set()),
    ],
    ids=str,
)
def test_vector_math_raises_the_flags_of_libm(name: str, arguments: Any, expected: set[str], count: int) -> None:
    made = um.compile_c(
        "#include <math.h>\n"
        + "".join(f"double c_{f}(double x) {{ return {f}(x); }}\n" for f in ("log", "sqrt", "tgamma", "exp"))
        + "double c_pow(double x, double y) { return pow(x, y); }\n"
    )
    assert _raised(made[f"c_{name}"], *(np.full(count, a) for a in arguments)) == expected


def test_fast_math_leaves_the_rest_of_the_process_its_denormals() -> None:
    f = um.c_ufunc(f"#include <math.h>\n{FORMULA}", fast_math=True)
    np.testing.assert_allclose(f(X, X), um.c_ufunc(f"#include <math.h>\n{FORMULA}")(X, X), rtol=1e-12, atol=1e-12)
    assert np.float64(5e-324) * np.float64(1) != 0


def test_native_code_says_what_it_needs() -> None:
    built = um.compile_c("double f(double x) { return x + 1; }", arch="native")
    assert built.f(1.0) == 2
    assert built.object_code.target.level.startswith("native: ")
    assert um.compile_c("double f(double x) { return x + 1; }").object_code.target.level == "baseline"


@pytest.mark.parametrize("argument", ["-march=native", "-mtune=native"])
def test_an_argument_that_chooses_the_cpu_is_an_architecture(argument: str) -> None:
    # Clones of a function of this CPU cannot have it inlined: gcc refused the cell.
    source = "#include <math.h>\ndouble f(double x) { return exp(x) + x * x; }"
    built = um.compile_c(source, compile_args=[argument], time=False)
    np.testing.assert_allclose(built.f(X), np.exp(X) + X * X, rtol=1e-15)
    assert (built.object_code.target.level == "baseline") == (argument == "-mtune=native")
    assert um.compile_c(source, compile_args=[argument], time=False).cached


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> Any:
    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("a process was started")

    def forbid() -> None:
        monkeypatch.setattr(subprocess, "Popen", refused)

    return forbid


def test_second_build_starts_no_process_and_gives_the_same_objects(no_process: Any) -> None:
    first = um.compile_c(SOURCE)
    no_process()
    again = um.compile_c(SOURCE)
    assert again.cached
    assert not first.cached
    assert again.wave is first.wave


def test_another_process_finds_it_without_a_parser_or_a_process(tmp_path: Path) -> None:
    # A text of its own: one that an earlier test compiled is in memory, and so not in this test's cache.
    source = f"{SOURCE}// for another process\n"
    um.compile_c(source)
    script = (
        "import subprocess, sys\n"
        "subprocess.Popen = None\n"
        "import ufunc_magic as um\n"
        f"b = um.compile_c({source!r})\n"
        "print(b.cached, b.wave(0.0), sorted(m for m in sys.modules if 'tree_sitter' in m or m == 'cffi'))"
    )
    # The very package under test, wherever this was started: another copy has other objects.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(um.__file__).parent.parent), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True 1.0 []\n", "")


def test_force_compiles_again_and_an_option_makes_another_object() -> None:
    first = um.compile_c(SOURCE)
    assert not um.compile_c(SOURCE, force=True).cached
    assert not um.compile_c(SOURCE, strict=True).cached
    assert not um.compile_c(SOURCE, compile_args=["-DX=1"]).cached
    assert um.compile_c(SOURCE).wave(0.5) == first.wave(0.5)


def test_an_edited_header_or_source_is_compiled_again(tmp_path: Path) -> None:
    header, source = tmp_path / "mine.h", tmp_path / "mine.c"
    header.write_text("double helper(double);\n#define K 3\n")
    source.write_text('#include "mine.h"\ndouble helper(double x) { return K * x; }\n')
    cell = '#include "mine.h"\ndouble f(double x) { return helper(x) + K; }'
    options = {"include": [str(tmp_path)], "src": [str(source)]}
    assert um.compile_c(cell, **options).f(2.0) == 9
    assert um.compile_c(cell, **options).cached
    header.write_text("double helper(double);\n#define K 5\n")
    assert um.compile_c(cell, **options).f(2.0) == 15
    source.write_text('#include "mine.h"\ndouble helper(double x) { return K + x; }\n')
    assert um.compile_c(cell, **options).f(2.0) == 12


def test_warnings_of_the_first_compilation_are_told_again_under_the_new_name() -> None:
    cell = "double f(double x) { int unused; return x; }"
    first = um.compile_c(cell, name="In[3]")
    again = um.compile_c(cell, name="In[7]")
    assert again.cached
    assert [(d.file, d.line, d.option) for d in first.diagnostics] == [("In[3]", 1, "-Wunused-variable")]
    assert [(d.file, d.line, d.option) for d in again.diagnostics] == [("In[7]", 1, "-Wunused-variable")]


def test_cells_that_define_the_same_symbol_keep_their_own() -> None:
    one = um.compile_c("double helper(double x) { return x + 1; }\ndouble f(double x) { return helper(x); }")
    two = um.compile_c("double helper(double x) { return x + 2; }\ndouble f(double x) { return helper(x); }")
    assert (one.f(0.0), two.f(0.0)) == (1, 2)


def test_a_cells_sin_and_malloc_are_its_own() -> None:
    built = um.compile_c("double sin(double x) { return 42; }\ndouble write(double x) { return sin(x); }")
    assert (built.sin(1.0), built.write(1.0)) == (42, 42)
    assert np.sin(0.0) == 0


@pytest.mark.slow
def test_cplus_exception_on_another_thread_reaches_the_caller() -> None:
    cell = """
    #include <stdexcept>
    double root(double x) { if (x < 0) throw std::domain_error("negative"); return x; }
    """
    root = um.c_ufunc(cell, cplus=True, parallel=2)
    x = np.ones(1_000_000)
    for place in (0, 500_000, 999_999):
        x[place] = -1
        for _ in range(5):
            with pytest.raises(ValueError, match="negative"):
                root(x)
        x[place] = 1
    np.testing.assert_array_equal(root(x), x)


@pytest.mark.slow
def test_cplus_exceptions_become_python_exceptions() -> None:
    built = um.compile_c(
        "#include <stdexcept>\n"
        'double root(double x) { if (x < 0) throw std::domain_error("negative"); return x; }\n'
        "// ufunc: (n)->()\n"
        'double first(const double *x, int n) { if (!n) throw std::length_error("empty"); return x[0]; }',
        cplus=True,
    )
    assert built.root([1.0, 2.0]).tolist() == [1, 2]
    for length in (1, 1_000_000):
        with pytest.raises(ValueError, match="negative"):
            built.root(np.full(length, -1.0))
    with pytest.raises(RuntimeError, match="empty"):
        built.first(np.empty((2, 0)))


def test_a_build_is_a_mapping_and_has_its_functions_as_attributes() -> None:
    built = um.compile_c(SOURCE)
    assert list(built) == ["add", "wave", "inverse"]
    assert len(built) == 3
    assert built["add"] is built.add
    assert dict(built)["wave"] is built.wave
    assert "add" in dir(built)
    assert repr(built) == "<Build <c>: add dd->d, wave d->d, inverse d->d>"
    assert built == um.compile_c(SOURCE)
    assert hash(built) == hash(um.compile_c(SOURCE))
    with pytest.raises(AttributeError, match="no function 'nosuch'"):
        _ = built.nosuch
    with pytest.raises(KeyError):
        _ = built["nosuch"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("double f(double x) { return x; }\ndouble g(double x) { return x; }", "2 functions (f, g)"),
        ("double f(const double *x) { return *x; }", "f cannot be a ufunc"),
    ],
)
def test_c_ufunc_wants_one_ufunc(source: str, message: str) -> None:
    with pytest.raises(um.SignatureError) as caught:
        um.c_ufunc(source)
    assert message in str(caught.value)


CYTHON = """
from libc.math cimport exp, pow


cdef double add(double a, double b) noexcept nogil:
    return a + b


cdef double wave(double x) noexcept nogil:
    return exp(x) + pow(x, 2.5)


cdef double with_objects(double x):
    return float(str(x))


# ufunc: (n)->()
cdef double total(double[::1] v) noexcept nogil:
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        s += v[i]
    return s
"""
needs_cython = pytest.mark.skipif(
    not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"
)


@pytest.mark.nightly
@pytest.mark.slow
@needs_cython
@pytest.mark.cython
def test_threads_change_no_bit_of_cython_functions() -> None:
    two = um.compile_cython(CYTHON, parallel=2)
    with two.threads(1):
        waves, totals = two.wave(X), two.total(X.reshape(-1, 100))
    np.testing.assert_array_equal(two.wave(X), waves)
    np.testing.assert_array_equal(two.wave(X[::3]), waves[::3])
    np.testing.assert_array_equal(two.total(X.reshape(-1, 100)), totals)
    np.testing.assert_array_equal(two.with_objects(X[:50_000]), X[:50_000])
    # Not sum(): since Python 3.12 it carries what rounding loses.
    assert two.add.reduce(X[:1000]) == functools.reduce(operator.add, X[:1000].tolist())


@pytest.mark.nightly
@pytest.mark.slow
@needs_cython
@pytest.mark.cython
def test_modes_of_the_compiler_reach_cython_functions() -> None:
    plain = um.compile_cython(CYTHON)
    assert plain.object_code.target.level == "baseline"
    assert um.compile_cython(CYTHON, arch="native").object_code.target.level.startswith("native: ")
    commented = um.compile_cython(f"# distutils: extra_compile_args = -march=native\n{CYTHON}")
    assert commented.object_code.target.level.startswith("native: ")
    np.testing.assert_allclose(commented.wave(X), plain.wave(X), rtol=1e-12)
    fast = um.compile_cython(CYTHON, fast_math=True)
    np.testing.assert_allclose(fast.wave(X), plain.wave(X), rtol=1e-12)
    assert np.float64(5e-324) * np.float64(1) != 0


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compile the plain loop with")
def test_strict_gives_cython_functions_the_bits_of_a_plain_scalar_call() -> None:
    c = "#include <math.h>\ndouble wave(double x) { return exp(x) + pow(x, 2.5); }"
    cython, expected = um.compile_cython(CYTHON, strict=True), um.compile_c(c, strict=True)
    np.testing.assert_array_equal(cython.wave(X), expected.wave(X))


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
def test_second_build_of_a_cython_cell_starts_no_process_and_gives_the_same_objects(no_process: Any) -> None:
    first = um.compile_cython(CYTHON)
    no_process()
    again = um.compile_cython(CYTHON)
    assert again.cached
    assert again.wave is first.wave


@pytest.mark.nightly
@pytest.mark.slow
@needs_cython
@pytest.mark.cython
def test_an_option_makes_another_object_of_a_cython_cell() -> None:
    # A text of its own: options that an earlier test gave to the same text are in memory.
    source = f"{CYTHON}\nX = 1\n"
    um.compile_cython(source)
    assert um.compile_cython(source).cached
    assert not um.compile_cython(source, strict=True).cached
    assert not um.compile_cython(source, compile_args=["-DX=1"]).cached
