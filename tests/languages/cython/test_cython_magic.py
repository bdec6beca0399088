"""%%cython_ufunc in an IPython shell, in new processes and in a Jupyter kernel."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import Kernel, open_kernel, run_cell, run_python

pytestmark = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]

_PROGRAM = "/proc/thread-self/exe"
#: By qemu, ten to twenty times slower; /proc/self it hides.
EMULATED = os.path.islink(_PROGRAM) and "qemu" in os.readlink(_PROGRAM)

LOGIT = """from libc.math cimport log


cdef double logit(double p):
    return log(p / (1 - p))


def twice(x):
    return 2 * x


cdef class Box:
    cdef public double side


SIDES = 4
"""
BROKEN = LOGIT.replace("p / (1", "q / (1")
C_BROKEN = LOGIT + 'cdef extern from *:\n    """\n    no_such_type a;\n    """\n    int a\nb = a\n'


@pytest.fixture
def loaded(loaded: InteractiveShell, shared_cache: Path) -> InteractiveShell:
    """The shell of conftest, with the cache of the whole run: compiling is not the point of most tests here."""
    return loaded


def run(shell: InteractiveShell, line: str = "-q", source: str = LOGIT, **keywords: Any) -> Any:
    return run_cell(shell, "cython_ufunc", source, line, **keywords)


def test_names_of_the_cell_become_names_of_the_notebook(loaded: InteractiveShell) -> None:
    assert run(loaded) is None
    names = loaded.user_ns
    assert isinstance(names["logit"], np.ufunc)
    assert names["logit"]([0.5]).tolist() == [0]
    assert (names["twice"](4), names["SIDES"]) == (8, 4)
    assert isinstance(names["Box"], type)


def test_value_of_the_cell_is_a_report_with_the_table(loaded: InteractiveShell) -> None:
    report = run(loaded, "-N 1000")
    assert loaded.user_ns["Out"][1] is report
    text = str(report)
    assert re.search(r"logit", text)
    assert "Python" in text
    assert report.ok
    assert "<table" in report._repr_html_()
    assert [c.name for c in report.comparisons][:1] == ["logit"]


def test_classes_and_constants_stand_in_the_report(loaded: InteractiveShell) -> None:
    text = str(run(loaded, "-N 1000"))
    assert "Box" in text
    assert "SIDES" in text
    assert "twice" in text


@pytest.mark.slow
def test_classic_table_times_the_compiled_sum_the_python_sum_and_numpys(loaded: InteractiveShell) -> None:
    cell = """cimport numpy as np


cpdef cSum(np.ndarray array):
    cdef np.ndarray[np.int64_t, ndim=1] v = array
    cdef np.int64_t total = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        total += v[i]
    return total
"""
    report = run(loaded, "", cell)
    comparison = next(c for c in report.comparisons if c.name == "cSum")
    assert comparison.ok
    assert len(comparison.rows) == 3
    assert any("v.sum()" in str(row) or "NumPy" in str(row) for row in comparison.rows)
    assert not isinstance(loaded.user_ns["cSum"], np.ufunc)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [BROKEN, C_BROKEN], ids=["cython", "c compiler"])
def test_failed_cell_raises_and_removes_what_its_earlier_run_bound(loaded: InteractiveShell, broken: str) -> None:
    run(loaded, cell_id="c1")
    with pytest.raises(um.CompileError) as caught:
        run(loaded, source=broken, cell_id="c1")
    assert {"logit", "twice", "Box", "SIDES"} & set(loaded.user_ns) == set()
    assert "In[2]" in str(caught.value)


def test_failed_cell_is_known_by_its_names_where_the_front_end_has_no_cell_ids(loaded: InteractiveShell) -> None:
    run(loaded)
    with pytest.raises(um.CompileError):
        run(loaded, source=BROKEN)
    assert {"logit", "twice", "Box"} & set(loaded.user_ns) == set()


@pytest.mark.slow
def test_cell_whose_body_raises_binds_nothing(loaded: InteractiveShell) -> None:
    run(loaded, cell_id="c1")
    with pytest.raises(ZeroDivisionError):
        run(loaded, source=LOGIT + "x = 1 / (SIDES - 4)\n", cell_id="c1")
    assert {"logit", "twice", "Box", "SIDES", "x"} & set(loaded.user_ns) == set()


def test_error_shows_as_a_clean_block(loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    loaded.run_cell(f"%%cython_ufunc -q\n{BROKEN}", store_history=True)
    shown = "".join(capsys.readouterr())
    assert "CompileError" in shown
    assert "In[1]:6:16" in shown
    assert "Traceback (most recent call last)" not in shown
    assert "__pyx" not in shown


def test_same_cell_again_gives_the_same_objects_in_a_millisecond(loaded: InteractiveShell) -> None:
    run(loaded)
    first = loaded.user_ns["logit"], loaded.user_ns["Box"]
    run(loaded)
    assert (loaded.user_ns["logit"], loaded.user_ns["Box"]) == first
    assert loaded.user_ns["logit"] is first[0]
    um.compile_cython(LOGIT)
    taken = []
    for _ in range(50):
        start = time.process_time()  # other programs of the machine are not the subject
        um.compile_cython(LOGIT)
        taken.append(time.process_time() - start)
    assert min(taken) < (1e-2 if EMULATED else 1e-3)


@pytest.mark.slow
def test_cell_that_hides_a_variable_of_the_user_says_so(loaded: InteractiveShell) -> None:
    loaded.user_ns["logit"] = 3
    assert any(
        "logit replaces" in note for note in run(loaded, source=LOGIT.replace("cdef double", "cpdef double")).notes
    )


@pytest.mark.slow
def test_options_of_cythons_magic_are_taken(loaded: InteractiveShell) -> None:
    run(loaded, "-q -3 -c=-DNDEBUG --link-args=-Wl,-O1 -l m -L /tmp -I /tmp --verbose")
    assert loaded.user_ns["logit"](0.5) == 0
    run(loaded, "-q -2", "def f(int x):\n    return 2 / x\n")
    assert loaded.user_ns["f"](10) == 0
    run(loaded, "-q -+", "from libcpp.vector cimport vector\ndef g():\n    cdef vector[int] v = [1, 2]\n    return v\n")
    assert loaded.user_ns["g"]() == [1, 2]


@pytest.mark.slow
def test_named_cell_is_a_module(loaded: InteractiveShell) -> None:
    run(loaded, "-q -n um_test_magic_module")
    try:
        loaded.run_cell("import um_test_magic_module as m; same = m.Box is Box").raise_error()
        assert loaded.user_ns["same"] is True
    finally:
        sys.modules.pop("um_test_magic_module", None)


@pytest.mark.slow
def test_annotated_cell_shows_its_lines_and_the_cached_one_shows_them_again(loaded: InteractiveShell) -> None:
    plain = run(loaded, "-N 1000")
    assert "__pyx" not in plain._repr_html_()
    for _ in range(2):
        html = run(loaded, "-a -N 1000")._repr_html_()
        assert "return 2 * x" in html
        assert "__Pyx_" in html  # the C behind the lines
        assert "<script" not in html


def test_bad_option_is_a_usage_error(loaded: InteractiveShell) -> None:
    with pytest.raises(UsageError, match="--annotate"):
        run(loaded, "--anotate")


def test_help_lists_the_options_and_an_example(loaded: InteractiveShell) -> None:
    text = loaded.object_inspect("%%cython_ufunc")["docstring"]
    for part in ("--annotate", "--cplus", "--name", "--pgo", "-3", "--link-args", "%%cython_ufunc"):
        assert part in text


def test_both_magics_live_side_by_side(loaded: InteractiveShell) -> None:
    run(loaded)
    loaded.run_cell("%%c_ufunc -q\ndouble logit(double p) { return 7; }", cell_id="c").raise_error()
    assert loaded.user_ns["logit"](0.5) == 7
    run(loaded)
    assert loaded.user_ns["logit"](0.5) == 0


@pytest.mark.slow  # setuptools builds its cell
def test_cythons_own_magic_still_works_beside_ours(loaded: InteractiveShell, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="%%cython needs setuptools")
    code = f"""
import warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
for name in ("ufunc_magic", "cython"):
    shell.run_line_magic("load_ext", name)
shell.run_cell_magic("cython_ufunc", "-q", {LOGIT!r})
shell.run_cell_magic("cython", "", "def f(x): return 2*x")
shell.run_cell_magic("cython_ufunc", "-q", {LOGIT + "# again"!r})
print("values", shell.user_ns["f"](4), shell.user_ns["logit"](0.5), shell.user_ns["twice"](2))
"""
    done = run_python(code, code=None)
    assert "values 8 0.0 4" in done.stdout, done.stderr


def test_load_ext_imports_no_cython() -> None:
    code = (
        "import sys, IPython, numpy\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell().run_line_magic('load_ext', 'ufunc_magic')\n"
        "print([m for m in sys.modules if 'ython.' in m and m.startswith('Cython')])"
    )
    done = run_python(code)
    assert done.stdout.split() == ["[]"]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, shared_cache_folder: Path) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    variables = {"UFUNC_MAGIC_CACHE": str(shared_cache_folder), "IPYTHONDIR": str(folder / "ipython")}
    with open_kernel(folder, **variables) as kernel:
        yield kernel


@pytest.mark.kernel
def test_kernel_shows_the_table_and_binds_the_names(kernel: Kernel) -> None:
    shown = kernel.run(f"%%cython_ufunc -N 1000\n{LOGIT}")
    assert (shown.error, shown.text("stderr")) == (None, "")
    assert "<table" in shown.data["text/html"]
    assert "logit" in shown.data["text/plain"]
    assert kernel.value("float(logit(0.5)), twice(3), SIDES") == "(0.0, 6, 4)"


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.parametrize("broken", [BROKEN, C_BROKEN], ids=["cython", "c compiler"])
def test_kernel_shows_an_error_and_not_a_success(kernel: Kernel, broken: str) -> None:
    kernel.run(f"%%cython_ufunc -q\n{LOGIT}")
    shown = kernel.run(f"%%cython_ufunc -q\n{broken}")
    assert shown.error
    assert shown.error["ename"] == "CompileError"
    assert "Traceback (most recent call last)" not in "\n".join(shown.error["traceback"])
    assert kernel.value("'logit' in globals()") == "False"


@pytest.mark.kernel
def test_exception_of_an_element_is_shown_with_the_line_of_the_cell(kernel: Kernel) -> None:
    cell = """%%cython_ufunc -q
cdef double root(double x) except? -1:
    if x < 0:
        raise ValueError('negative', x)
    return x ** 0.5
"""
    assert kernel.run(cell).error is None
    shown = kernel.run("root(np.array([4.0, -1.0]))")
    assert shown.error
    assert (shown.error["ename"], shown.error["evalue"]) == ("ValueError", "('negative', -1.0)")
    assert re.search(r"root", "\n".join(shown.error["traceback"]))


@pytest.mark.slow
@pytest.mark.kernel
def test_kernel_survives_many_versions_of_a_cell(kernel: Kernel) -> None:
    for n in range(4):
        kernel.run(f"%%cython_ufunc -q\ncdef double version(double x):\n    return x + {n}\n\nN = {n}")
        assert kernel.value("float(version(0.0)), N") == f"({n}.0, {n})"


def test_cdef_functions_leave_builtins_and_the_users_names_alone(loaded: InteractiveShell) -> None:
    cell = (
        "cdef inline int min(int a, int b) noexcept:\n    return a if a < b else b\n"
        "cdef double rate(double x):\n    return x\n"
        "cdef double free(double x):\n    return 3*x\n"
        "def least(int a, int b):\n    return min(a, b)\n"
    )
    mine = object()
    loaded.user_ns["rate"] = mine
    text = " ".join(str(run(loaded, "--no-time", cell)).split())
    names = loaded.user_ns
    assert "min" not in names
    assert names["rate"] is mine
    assert (names["least"](3, 2), names["free"](1.0)) == (2, 3)
    assert "min(" not in text
    assert "rate(" not in text
    assert "least(a, b)" in text
    assert "min is not bound: it is a cdef function, and Python's builtin has the same name." in text
    assert "write # ufunc: name=min_ above it" in text
    assert "rate is not bound: it is a cdef function, and your own variable has the same name." in text


def test_function_with_keyword_only_parameters_is_timed(loaded: InteractiveShell) -> None:
    report = run(loaded, "-N 1000", "def area(double width, *, double height=2):\n    return width * height\n")
    assert [c.name for c in report.comparisons] == ["area"]
    assert report.ok


@pytest.mark.slow
def test_comment_binds_a_cdef_function_whatever_its_name(loaded: InteractiveShell) -> None:
    run(loaded, "-q", "# ufunc: name=min\ncdef int least(int a, int b) noexcept:\n    return a if a < b else b\n")
    assert isinstance(loaded.user_ns["min"], np.ufunc)
