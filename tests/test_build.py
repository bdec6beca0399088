"""What a build gives besides its functions, and the types that its ufuncs take."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic import pipeline, store
from ufunc_magic.bench import machine
from ufunc_magic.languages.c import LANGUAGE
from ufunc_magic.model import Options, make_options
from ufunc_magic.runtime import Build, LoadedObject

SOURCE = """
#include <stdint.h>
// ufunc: identity=0
int sum(int a, int b) { return a + b; }
uint8_t scaled(uint8_t x, double by) { return (uint8_t)(x * by); }
void halves(short x, short *q, short *r) { *q = x / 2; *r = x % 2; }
double index(const double x[4], unsigned i) { return x[i % 4]; }
// ufunc: (n),()->(n)
void shifted(const int *x, int by, int *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] + by; }
unsigned long plain(unsigned long n) { return n; }
float narrow(float x) { return x; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE)


def test_types_are_those_of_the_c_functions(c: Build) -> None:
    assert {name: f.types for name, f in c.items()} == {
        "sum": ["ii->i"],
        "scaled": ["Bd->B"],
        "halves": ["h->hh"],
        "index": ["dI->d"],
        "shifted": ["ii->i"],
        "plain": ["L->L"],
        "narrow": ["f->f"],
    }


def test_reduce_and_its_kin_take_default_integers(c: Build) -> None:
    x = np.arange(5000)
    assert c.sum.reduce(x) == x.sum()
    assert c.sum.reduce(x.reshape(50, 100), axis=None) == x.sum()
    np.testing.assert_array_equal(c.sum.reduce(x.reshape(50, 100), axis=0), x.reshape(50, 100).sum(0))
    np.testing.assert_array_equal(c.sum.reduceat(x, [0, 7, 4000]), np.add.reduceat(x, [0, 7, 4000]))
    np.testing.assert_array_equal(c.sum.outer(x[:5], x[:4]), np.add.outer(x[:5], x[:4]))
    assert c.shifted(np.arange(3), 10).tolist() == [10, 11, 12]


def test_loops_of_overloads_are_chosen_as_numpy_casts() -> None:
    made = um.compile_c(
        "int f(int x) { return 1; } long long f(long long x) { return 2; } double f(double x) { return 3; }", cplus=True
    )
    assert made.f.types == ["i->i", "q->q", "d->d"]
    assert [made.f(v) for v in (np.int32(0), 0, 0.0)] == [1, 2, 3]


def test_only_functions_that_refuse_float64_have_a_note(c: Build) -> None:
    assert c.notes == (
        "narrow takes float32 and rejects float64 arrays, which would lose digits: pass x.astype('f4'), or --types.",
    )


def test_note_says_whose_it_is() -> None:
    made = um.compile_c(
        "double f(double x) { return x; }\nvoid g(double v[3]) { for (int i = 0; i < 3; i++) v[i] *= 2; }"
    )
    assert made.notes == ("g: 'v' is read before it is written, so it is both an input and an output.",)


def test_functions_of_local_headers_and_c_files_are_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more.h").write_text(
        "static double hidden(double x) { return x; }\ndouble one(double x) { return hidden(x) + 1; }\n"
    )
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "lib.c").write_text(
        '#include <math.h>\n#include "own.h"\nreal two(real x) { return exp(x) + 2; }\n'
    )
    (tmp_path / "lib" / "own.h").write_text("typedef double real;\n")
    monkeypatch.chdir(tmp_path)
    made = um.compile_c('#include "more.h"\n#include "lib.c"\n', include="lib")
    assert set(made) == {"one", "two"}
    assert (made.one(1.0), made.two(0.0)) == (2, 3)


def test_error_in_a_local_header_is_told_with_the_line_that_includes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.h").write_text("\ndouble one(double x) { return y; }\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(um.CompileError) as caught:
        um.compile_c('\n#include "bad.h"\ndouble f(double x) { return x; }', name="cell")
    assert "bad.h:2:31: error: 'y' undeclared" in str(caught.value)
    assert "cell:2" in str(caught.value)


def test_thread_setting_of_a_serial_build_does_nothing(c: Build) -> None:
    with c.threads(3):
        assert c.sum(1, 2) == 3


@pytest.mark.slow
def test_ufunc_outlives_its_build() -> None:
    import gc

    f = um.compile_c("double f(double x) { return x + 7; }").f
    gc.collect()
    assert f(np.ones(1000)).sum() == 8000


def test_what_goes_wrong_over_sizes_is_a_note_beside_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from ufunc_magic import pipeline
    from ufunc_magic.bench import cell_report
    from ufunc_magic.model import ComparisonError, Options

    def fails(*_: object, **__: object) -> None:
        raise ComparisonError("a rival gave up")

    monkeypatch.setattr(cell_report, "make_groups", fails)
    build = um.compile_c("double over_sizes(double x) { return x + 1; }")
    report = pipeline.report(build, options=Options(sizes="10:100"))
    assert [comparison.name for comparison in report.comparisons] == ["over_sizes"]
    assert [note for note in report.notes if "a rival gave up" in note] != []


# -- the report of a build


DATA = """
double kinetic(double m, double v) { return 0.5 * m * v * v; }
// ufunc: (n)->()
double total(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
"""


@pytest.fixture(scope="module")
def data(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, DATA)


def test_a_report_has_the_inputs_that_it_was_made_of(data: Build) -> None:
    report = data.report(size=100)
    m, v = report.inputs["kinetic"]
    assert (m.shape, v.dtype) == ((100,), np.float64)
    low, high = float(f"{m.min():.3g}"), float(f"{m.max():.3g}")
    assert f"100 elements; m from {low:g} to {high:g}; v from " in str(report)
    assert "arguments" not in report.to_json()


def test_a_report_keeps_no_more_than_the_first_elements(data: Build) -> None:
    report = data.report(data="np.arange(50_000.0), 2.0")
    assert "50,000 elements; m from 0 to 50,000" in str(report)
    m, v = report.inputs["kinetic"]
    np.testing.assert_array_equal(m, np.arange(10_000.0))
    assert m.base is None
    assert v.shape == (10_000,)


def test_a_report_is_made_of_given_data(data: Build) -> None:
    report = data.report(data="np.linspace(0, 1, 500), 2.0")
    m, v = report.inputs["kinetic"]
    np.testing.assert_array_equal(m, np.linspace(0, 1, 500))
    assert (v == 2).all()
    text = " ".join(str(report).split())
    assert "500 elements; m from 0 to 1; v = 2; results are identical" in text
    assert "note: total was not timed: there are 2 arrays for 1 inputs. Pass one array for each input." in text
    report = data.report(data="np.arange(12.0).reshape(3, 4)")
    assert report.inputs["total"][0].shape == (3, 4)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("np.ones(3), np.ones(4)", "the arrays have 3 and 4 elements. Pass arrays of the same length."),
        (
            "np.ones(3), np.ones(3, complex)",
            "array 2 has dtype complex128, which does not fit the input of type float64.",
        ),
        ("np.ones(0), np.ones(0)", "the arrays have 0 and 0 elements."),
    ],
)
def test_data_that_does_not_fit_is_a_note(data: Build, text: str, note: str) -> None:
    shown = " ".join(str(data.report(data=text)).split())  # without the line breaks
    assert f"note: kinetic was not timed: {note}" in shown


def test_data_that_cannot_be_evaluated_is_an_error_of_the_option(data: Build) -> None:
    with pytest.raises(um.OptionError, match=r"--data 'nothing'.*NameError"):
        data.report(data="nothing")


def test_a_build_shows_what_it_bound(data: Build) -> None:
    assert "kinetic" in (data._repr_html_() or "")


def test_a_build_that_was_loaded_has_no_report(data: Build) -> None:
    loaded = Build(LoadedObject(data.object_code), "cell")
    with pytest.raises(um.UfuncMagicError, match="loaded, not compiled"):
        loaded.report()
    assert loaded._repr_html_() is None
    assert pickle.loads(pickle.dumps(data)).kinetic(2.0, 3.0) == 9


def test_a_stored_record_that_is_not_of_its_code_is_compiled_again() -> None:
    """Somebody who can write there has sealed it: an index beyond the table would be called."""
    source, options = "double f(double x) { return 3 * x; }", {"arch": "native"}
    um.compile_c(source, **options)
    cache, key = store.open_default(), LANGUAGE.make_key(source, options=make_options(options))
    entry = cache.get(key)
    assert entry is not None
    for record in (entry.record.replace(b'"index":0', b'"index":9'), entry.record.partition(b"\n")[0] + b"\n{}"):
        cache.publish(key, record=record, code=entry.code, replace=True)
        pipeline.BUILDS.clear()
        again = um.compile_c(source, **options)
        assert not again.cached
        assert again.f(2.0) == 6
    pipeline.BUILDS.clear()
    assert um.compile_c(source, **options).cached


def test_a_missing_return_is_said_to_be_one() -> None:
    build = um.compile_c("double f(double x) { if (x > 0) return x; }", guard=False)
    shown = " ".join(str(build.report()).split())
    assert "control reaches end of non-void function" in shown
    assert (
        "f was not timed: It ends without a return for some values, so its result is whatever is in a register" in shown
    )


def test_a_session_is_told_once_that_the_machine_is_busy(data: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.Pressure, "describe", lambda self: "busy machine: very")
    announced: set[str] = set()
    notes = [pipeline.report(data, options=Options(time=0.01), announced=announced).pressure for _ in range(3)]
    assert notes == ["busy machine: very", "", ""]
    assert pipeline.report(data, options=Options(time=0.01)).pressure == "busy machine: very"
