"""Structures as operands: ufuncs of structured dtypes, laid out as the C compiler does it."""

from __future__ import annotations

import pickle
import platform
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.model import FunctionCode, LoopCode, ObjectCode, Target
from ufunc_magic.runtime import Build, PlainFunction

#: What rests on a trap of the processor's.
traps = pytest.mark.skipif(
    platform.machine() in ("aarch64", "arm64"), reason="arm64 divides integers by zero without a trap, to 0"
)

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
typedef double real;
typedef struct { real x, y, z; } vec3;
struct point { double x, y; };
enum mode { OFF, ON = 5 };
typedef struct __attribute__((packed)) {
    uint8_t tag;
    struct point at;
    float w[2][2];
    struct { int i; _Bool b; } in;
    struct point two[2];
    enum mode mode;
} item;
typedef struct { int id; float w; } pair;

/* The cross product. */
vec3 cross(vec3 a, vec3 b) { vec3 r = {a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x}; return r; }
double dot(const vec3 *a, const vec3 *b) { return a->x*b->x + a->y*b->y + a->z*b->z; }
vec3 scale(vec3 a, double s) { a.x *= s; a.y *= s; a.z *= s; return a; }
void make(double x, double y, double z, vec3 *o) { o->x = x; o->y = y; o->z = z; }
double drop(vec3 *p, double d) { double before = p->x; p->x = d; return before; }
void set_x(vec3 *p, double d) { p->x = d; }
struct point add(struct point a, struct point b) { struct point r = {a.x + b.x, a.y + b.y}; return r; }
item change(item i, struct point d)
{
    i.at.x += d.x; i.at.y += d.y; i.w[1][0] = i.tag; i.in.i++; i.in.b = 1; i.two[1].y = 7; i.mode = ON;
    return i;
}
struct point inverse(struct point p) { p.x = 1 / p.x; return p; }
int quotient(struct point p, int d) { return (int)p.x / d; }
pair pair_of(int i) { pair r = {i, i}; return r; }
pair times(pair a, int i, float f) { a.id *= i; a.w *= f; return a; }
div_t split(int a, int b) { div_t none = {0, 0}; return b ? div(a, b) : none; }

typedef union { int i; float f; } either;
struct bits { int a : 3; };
struct list { double *p; };
struct tail { int n; double d[]; };
float of_union(either x) { return x.f; }
int of_bits(struct bits b) { return b.a; }
int of_list(struct list b) { return b.p != 0; }
int of_tail(struct tail *f) { return f->n; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE)


def vectors(c: Build, number: int, seed: int = 0) -> np.ndarray[Any, Any]:
    array = np.zeros(number, um.dtype_of(c.cross))
    for name in "xyz":
        array[name] = np.random.default_rng([seed, ord(name)]).uniform(-1, 1, number)
    return array


def points(c: Build, number: int) -> np.ndarray[Any, Any]:
    array = np.ones(number, um.dtype_of(c.add))
    array["x"] = range(number)
    return array


def plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.stack([array[name] for name in array.dtype.names or ()], axis=-1)


def test_structures_are_inputs_and_results(c: Build) -> None:
    a, b = vectors(c, 1000), vectors(c, 1000, 1)
    assert isinstance(c.cross, np.ufunc)
    np.testing.assert_allclose(plain(c.cross(a, b)), np.cross(plain(a), plain(b)), atol=1e-15)
    np.testing.assert_allclose(c.dot(a, b), (plain(a) * plain(b)).sum(axis=1), atol=1e-15)
    assert c.cross(a, b).dtype == um.dtype_of(c.cross)


def test_strides_broadcasting_and_empty_arrays(c: Build) -> None:
    a, b = vectors(c, 12), vectors(c, 12, 1)
    np.testing.assert_array_equal(c.cross(a[::-2], b[::2]), c.cross(a, b[::-1])[::-2])
    grid = c.dot(a[:, None], b[None, :5])
    assert grid.shape == (12, 5)
    assert grid[3, 4] == c.dot(a[3], b[4])
    assert c.cross(a[:0], b[:0]).shape == (0,)
    assert c.dot.outer(a, b).shape == (12, 12)


def test_out_where_and_one_array_for_both(c: Build) -> None:
    a = points(c, 5)
    out = np.zeros(5, a.dtype)
    assert c.add(a, a, out=out, where=a["x"] > 2) is out
    assert out["x"].tolist() == [0, 0, 0, 6, 8]
    c.add(a, a, out=a)
    assert a["x"].tolist() == [0, 2, 4, 6, 8]
    c.add(a[:-1], a[1:], out=a[1:])
    assert a["x"].tolist() == [0, 2, 6, 10, 14]


def test_one_structure_is_a_void_scalar(c: Build) -> None:
    result = c.make(1, 2.0, np.float32(3))
    assert isinstance(result, np.void)
    assert result.tolist() == (1, 2, 3)


def test_reduce_and_accumulate(c: Build) -> None:
    a = points(c, 200)
    assert c.add.reduce(a).tolist() == (19900, 200)
    assert c.add.accumulate(a)["x"].tolist() == np.add.accumulate(a["x"]).tolist()


def test_unaligned_and_packed_arrays(c: Build) -> None:
    kind = np.dtype({"names": ["x", "y"], "formats": ["d", "d"], "offsets": [1, 9], "itemsize": 17})
    a = np.zeros(86, "u1")[1:].view(kind)
    a["x"], a["y"] = range(5), 2
    assert c.add(a, a).tolist() == [(2 * x, 4) for x in range(5)]
    swapped = np.array([(1, 2)], [("x", ">f8"), ("y", ">f8")])
    assert c.add(swapped, swapped).tolist() == [(2, 4)]
    narrow = np.array([(1, 2)], [("x", "f4"), ("y", "i2")])
    assert c.add(narrow, narrow).tolist() == [(2, 4)]


@pytest.mark.parametrize("names", ["yx", "ab", "x", "xyz"])
def test_other_fields_are_refused(c: Build, names: str) -> None:
    with pytest.raises(TypeError):
        c.add(np.zeros(2, [(name, "d") for name in names]), points(c, 2))
    with pytest.raises(TypeError):
        c.add(points(c, 2), points(c, 2), out=np.zeros(2, [(name, "d") for name in names]))


def test_numbers_are_no_structures(c: Build) -> None:
    with pytest.raises(TypeError):
        c.add(1.0, points(c, 2))


def test_numbers_beside_structures_are_not_narrowed(c: Build) -> None:
    assert c.scale(vectors(c, 2), np.arange(2)).shape == (2,)
    assert c.pair_of(3).tolist() == (3, 3)
    assert c.times(c.pair_of([1, 2]), [3, 4], 2.5).tolist() == [(3, 2.5), (8, 5)]
    with pytest.raises(OverflowError, match="does not fit int32"):
        c.pair_of([1, 2**33])
    with pytest.raises(TypeError):
        c.times(c.pair_of(1), 2, np.zeros(2))


def test_pointers_to_structures(c: Build) -> None:
    a = vectors(c, 3)
    before, after = c.drop(a, 5.0)
    assert before.tolist() == a["x"].tolist()
    assert after["x"].tolist() == [5, 5, 5]
    np.testing.assert_array_equal(after["y"], a["y"])
    np.testing.assert_array_equal(c.set_x(a, 5.0), after)


def test_layout_is_the_compilers(c: Build) -> None:
    kind = um.dtype_of(c.change, "item")
    assert kind.itemsize == 1 + 16 + 16 + 8 + 32 + 4
    assert [kind.fields[name][1] for name in kind.names] == [0, 1, 17, 33, 41, 73]  # type: ignore[index, union-attr]
    assert kind["w"].shape == (2, 2)
    assert kind["two"].subdtype == (um.dtype_of(c.add), (2,))
    one = np.zeros(70, kind)
    one["tag"] = range(70)
    done = c.change(one, points(c, 70))
    for n in (0, 69):
        assert done[n].tolist()[:2] == (n, (n, 1))
        assert done[n]["w"].tolist() == [[0, 0], [n, 0]]
        assert done[n]["in"].tolist() == (1, True)
        assert done[n]["two"].tolist() == [(0, 0), (0, 7)]
        assert done[n]["mode"] == 5


def test_structure_of_a_systems_header(c: Build) -> None:
    assert c.split([7, 9], 2).tolist() == [(3, 1), (4, 1)]


@pytest.mark.slow
def test_structure_of_a_local_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "point.h").write_text("typedef struct { double x, y; } point;\n")
    monkeypatch.chdir(tmp_path)
    f = um.c_ufunc('#include "point.h"\ndouble norm2(point p) { return p.x*p.x + p.y*p.y; }')
    assert f(np.array([(3, 4)], um.dtype_of(f))).tolist() == [25]


@pytest.mark.slow
def test_cplus_structures() -> None:
    f = um.c_ufunc(
        "#include <stdexcept>\nstruct p { double x; int n; };\n"
        'p next(const p &a, int by) { if (by < 0) throw std::domain_error("back"); return p{a.x / 2, a.n + by}; }',
        cplus=True,
    )
    a = np.array([(1, 2)], um.dtype_of(f, "a"))
    assert f(a, 3).tolist() == [(0.5, 5)]
    with pytest.raises(ValueError, match="back"):
        f(a, -1)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("of_union", "union"),
        ("of_bits", "members other than numbers"),
        ("of_list", "pointers"),
        ("of_tail", "members other than numbers"),
    ],
)
def test_what_stays_a_plain_function_says_why(c: Build, name: str, reason: str) -> None:
    assert isinstance(c[name], PlainFunction)
    assert reason in c[name].reason


@pytest.mark.slow
def test_cplus_structures_have_functions_and_constructors() -> None:
    build = um.compile_c(
        """
        struct Point {
            double x, y;
            Point(double x = 0, double y = 0) : x(x), y(y) {}
            Point operator+(const Point &o) const { return {x + o.x, y + o.y}; }
            double square() const;
            friend Point operator-(Point a) { return {-a.x, -a.y}; }
        };
        double Point::square() const { return x * x + y * y; }
        Point add(Point a, Point b) { return a + -(-b); }
        double square(const Point &p) { return p.square(); }
        Point diagonal(double d) { return Point(d, d); }

        struct Fixed { double x; Fixed(double x) : x(x) {} };
        double of_fixed(Fixed f) { return f.x; }
        struct Shape { double x; virtual double area() { return x; } };
        double of_shape(Shape s) { return s.area(); }
        """,
        cplus=True,
    )
    p = build.diagonal([1.0, 2.0])
    assert build.add(p, p).tolist() == [(2.0, 2.0), (4.0, 4.0)]
    assert build.square(p).tolist() == [2.0, 8.0]
    refusals = [note for note in build.notes if " is a struct that has " in note]
    assert ["no constructor without arguments" in note for note in refusals] == [True, False]
    assert ["virtual functions" in note for note in refusals] == [False, True]


@traps
def test_fault_names_the_element_and_its_members(c: Build) -> None:
    a = points(c, 300)
    with pytest.raises(um.CellCrashed, match=r"quotient\(\{x=250.0, y=1.0\}, 0\) .*zero, at index 250"):
        c.quotient(a, np.where(a["x"] == 250, 0, 1))
    assert c.quotient(a, 1)[-1] == 299


def test_floating_point_flags_are_those_of_the_results(c: Build) -> None:
    a = points(c, 100)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in inverse"):
        c.inverse(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c.inverse(a[1:])


def test_help_shows_the_structures(c: Build) -> None:
    text = c.scale.__doc__ or ""
    assert "Loops: Vd->V" in text
    assert "a, result: vec3, [('x', '<f8'), ('y', '<f8'), ('z', '<f8')]" in text
    assert "The cross product." in (c.cross.__doc__ or "")
    assert "cross VV->V" in repr(c)


def test_dtype_of_operands(c: Build) -> None:
    kind = um.dtype_of(c.scale)
    assert kind.names == ("x", "y", "z")
    assert um.dtype_of(c.scale, "a") == um.dtype_of(c.scale, 2) == um.dtype_of(c.scale, "vec3") == kind
    assert um.dtype_of(c.scale, "s") == np.float64
    with pytest.raises(um.ArgumentError, match="several structures"):
        um.dtype_of(c.change)
    with pytest.raises(um.ArgumentError, match="no operand or structure 'q'"):
        um.dtype_of(c.scale, "q")
    with pytest.raises(um.ArgumentError, match="not a ufunc from a cell"):
        um.dtype_of(np.add)


@pytest.mark.slow
def test_they_travel(c: Build) -> None:
    a = points(c, 3)
    assert pickle.loads(pickle.dumps(c.add)) is c.add
    assert um.loads(um.dumps(c.add))(a, a).tolist() == c.add(a, a).tolist()
    da = pytest.importorskip("dask.array")
    chunks = da.from_array(a, chunks=2)
    np.testing.assert_array_equal(c.add(chunks, chunks).compute(), c.add(a, a))


@pytest.mark.slow
def test_records_come_back_from_the_header(c: Build) -> None:
    target = Target("elf", "linux", "x86_64")
    loops = (LoopCode(0, (12, 12)),)
    read = ObjectCode.from_bytes(c.object_code.to_bytes())
    assert read == c.object_code
    assert {f.name: f.records for f in read.functions} == {f.name: f.records for f in c.object_code.functions}
    wrong = FunctionCode("f", "ufunc", nin=1, nout=1, loops=loops, records=("{}", ""))
    with pytest.raises(um.TargetError, match="has the structures"):
        ObjectCode.from_bytes(ObjectCode(b"", target, (wrong,)).to_bytes())


def test_compare_takes_them(c: Build) -> None:
    a = points(c, 100)
    result = um.compare({"add": c.add, "again": lambda p, q: c.add(q, p)}, a, a, budget=0.1)
    assert "identical" in str(result)


def test_c_calls_them_as_they_are(c: Build, tmp_path: Path) -> None:
    assert um.address(c.dot)
    header, _ = um.write_header(c, tmp_path / "cell.h")
    assert "static inline struct point add(struct point a_, struct point b_)" in header.read_text()
    assert "double dot(const vec3 *" in header.read_text()


@pytest.mark.numba
def test_numba_refuses_them(c: Build) -> None:
    numba = pytest.importorskip("numba")
    add = c.add
    with pytest.raises(numba.TypingError, match=r"add .*structures"):
        numba.njit(lambda a: add(a, a))(points(c, 2))


@pytest.mark.slow
def test_sandbox_leaves_them_out_and_parallel_runs_them_alone() -> None:
    source = "struct p { double x; }; struct p same(struct p a) { return a; } double one(double x) { return x; }"
    built = um.compile_c(source, sandbox=True)
    assert list(built) == ["one"]
    assert any("same has structures, so it cannot run in a sandbox" in note for note in built.notes)
    built = um.compile_c(source, parallel=2)
    assert any("same runs on one thread" in note for note in built.notes)
    assert built.same(np.ones(50000, um.dtype_of(built.same)))["x"].sum() == 50000


@pytest.mark.slow
def test_function_that_always_crashes_is_not_bound() -> None:
    built = um.compile_c(
        "struct p { double x; };\nint bad(struct p a) { return *(volatile int *)0; }\nint ok(int a) { return a; }"
    )
    with pytest.raises(um.CellCrashed, match="null pointer"):
        built["bad"]


@pytest.mark.slow
def test_sixty_four_operands_of_which_one_is_a_structure() -> None:
    numbers = ", ".join(f"double x{n}" for n in range(62))
    total = "+".join(f"x{n}" for n in range(62))
    f = um.c_ufunc(f"struct p {{ double x; }}; double f(struct p p, {numbers}) {{ return p.x+{total}; }}")
    assert f.nargs == 64
    assert f(np.array((5,), um.dtype_of(f)), *[1.0] * 62) == 67
    with pytest.raises(um.SignatureError, match="65 operands"):
        um.c_ufunc(f"struct p {{ double x; }}; double f(struct p p, {numbers}, double y) {{ return p.x+y+{total}; }}")
