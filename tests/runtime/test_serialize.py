"""Compiled functions travel as bytes: the same behaviour elsewhere, the same object at home, nothing run unasked."""

from __future__ import annotations

import contextlib
import copy
import copyreg
import functools
import hashlib
import hmac
import importlib.util
import json
import multiprocessing
import os
import pickle
import platform
import re
import struct
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ufunc_magic as um
from support import run_bare, run_python
from ufunc_magic import __main__, runtime, serialize as door
from ufunc_magic.model import ObjectCode, OptionError, SignatureError, TargetError, pack, unpack
from ufunc_magic.model.object_code import FORMAT_VERSION
from ufunc_magic.render import describe_contents
from ufunc_magic.runtime import pickling as serialize

needs_cython = pytest.mark.skipif(
    not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"
)
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc and memfd")

SOURCE = """
#include <math.h>
#include <stdlib.h>

// Twice the exponential.
double twice(double x) { return 2 * exp(x); }

double add(double x, double y) { return x + y; }

// Greatest common divisor: int loops, for which NumPy's int64 needs a promoter.
int gcd(int a, int b) {
    while (b) { int t = a % b; a = b; b = t; }
    return a < 0 ? -a : a;
}

// ufunc: (n),(n)->() identity=0 name=dot
double dot_of(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

void polar(double x, double y, double *r, double *phi) { *r = hypot(x, y); *phi = atan2(y, x); }

typedef struct { double x, y; void *unused; } point;
double norm(point p) { return hypot(p.x, p.y); }
"""
CPP = """
#include <stdexcept>
template <class U> static U half_of(U x) { return x / 2; }
float half(float x) { return half_of(x); }
double half(double x) { return half_of(x); }
double root(double x) { if (x < 0) throw std::domain_error("no real root"); return x * x; }
"""
CYTHON = '''
cdef double square(double x) noexcept nogil:
    """Its square."""
    return x * x

cpdef list pair(x):
    return [x, x]

cdef double root(double x) except? -1:
    if x < 0:
        raise Negative(f"{x} has no real root")
    return x ** 0.5

class Negative(ValueError):
    pass

cdef class Counter:
    cdef public int n
    def __init__(self, n):
        self.n = n
    cpdef int up(self):
        self.n += 1
        return self.n

class Plain:
    def __init__(self, n):
        self.n = n
    def again(self):
        return Plain(self.n + 1)
'''

#: No compiler to be found, nothing that could make one importable, and warnings are errors.
PREAMBLE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "Cython", "ziglang", "IPython", "dask", "tree_sitter"):
            raise ImportError(f"{name} is not on this machine")
sys.meta_path.insert(0, Blocked())
import pickle
import numpy as np
got = pickle.load(sys.stdin.buffer)
"""

#: pickle looks for a function's module among all that are imported, and touching some of them (mpmath's) warns.
TOUCHES_EVERY_MODULE = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def elsewhere(given: object, script: str, *, folder: Path, options: tuple[str, ...] = ("-Werror",), **env: str) -> str:
    """The output of ``script`` in a new process that has no compiler, where ``got`` is the pickled ``given``."""
    data = given if isinstance(given, bytes) else pickle.dumps(given)
    return run_bare(PREAMBLE + script, input=data, folder=folder, options=options, **env)


def built() -> Any:
    """The Build of SOURCE, made once in this process."""
    return um.compile_c(SOURCE)


def altered(object_code: ObjectCode, number: int) -> ObjectCode:
    """The same machine code with other bytes behind it, which no loader reads: another object to all who ask."""
    return replace(object_code, code=object_code.code + struct.pack("<I", number))


def foreign(object_code: ObjectCode, **change: str) -> bytes:
    return pack(replace(object_code, target=replace(object_code.target, **change)), entry="twice")


# At home: the same object.


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["twice", "gcd", "dot", "polar", "norm"])
def test_pickle_gives_the_same_object_in_the_same_process(name: str, protocol: int) -> None:
    f = built()[name]
    assert pickle.loads(pickle.dumps(f, protocol)) is f


def test_pickle_in_pure_python_does_as_the_one_in_c() -> None:
    f = built().twice
    assert pickle._loads(pickle._dumps(f)) is f  # type: ignore[attr-defined]


def test_copies_are_the_same_object() -> None:
    f = built().twice
    assert copy.copy(f) is f
    assert copy.deepcopy({"f": [f]})["f"][0] is f


def test_builds_come_back_equal_with_the_same_functions() -> None:
    made = built()
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert hash(again) == hash(made)
    assert [again[name] is made[name] for name in made] == [True] * 6
    assert copy.deepcopy(made) == made


def test_dumps_and_loads_give_the_same_object() -> None:
    made = built()
    for f in made.values():
        assert um.loads(um.dumps(f)) is f
        assert um.loads(um.dumps(f, source=False)) is f
        assert um.loads(memoryview(um.dumps(f))) is f
    assert um.loads(um.dumps(made)) == made


def _sealed_again(payload: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A payload with another header, and the seal of that."""
    head = struct.Struct("<4sHHII")
    *_, length, size = head.unpack_from(payload)
    header = json.loads(payload[16 : 16 + length])
    change(header)
    text, code = json.dumps(header).encode(), payload[16 + length : 16 + length + size]
    front = head.pack(b"UFMO", 1, 0, len(text), len(code)) + text
    return front + code + hashlib.sha256(front + hashlib.sha256(code).digest()).digest()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "change"),
    [
        ("twice", {"loops": [{"index": 1000, "types": [12, 12]}]}),
        ("twice", {"loops": [{"index": 1, "types": [12, 12]}]}),
        ("twice", {"loops": [{"index": 0, "types": [15, 15]}]}),
        ("twice", {"nin": 2, "loops": [{"index": 0, "types": [12, 12, 12]}], "parameters": ["x", "y"]}),
        ("twice", {"core": "(n)->(n)"}),
        ("twice", {"kind": "plain", "index": 5000, "declaration": "double (*)(double)", "loops": []}),
    ],
)
def test_header_that_was_altered_and_sealed_again_is_refused(
    function: str, change: dict[str, Any], tmp_path: Path
) -> None:
    """Each of these made the process read or call what is not there."""
    build = um.compile_c(SOURCE, guard=False)

    def altered(header: dict[str, Any]) -> None:
        next(f for f in header["functions"] if f["name"] == function).update(change)

    payload = _sealed_again(um.dumps(build), altered)
    script = """
import ufunc_magic as um
try:
    um.loads(got)
except um.TargetError as error:
    print(error)
"""
    error = elsewhere(pickle.dumps(payload), script, folder=tmp_path)
    assert error.startswith("The object code's header does not belong to its machine code.")


def test_header_whose_texts_were_altered_still_loads(tmp_path: Path) -> None:
    whole = um.dumps(um.compile_c(SOURCE, guard=False))
    payload = _sealed_again(whole, lambda header: header.update(source="", name="x"))
    script = "import ufunc_magic as um; print(um.loads(got).add(2.0, 2.0))"
    assert elsewhere(pickle.dumps(payload), script, folder=tmp_path) == "4.0"


def test_equal_bytes_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task of a Dask worker brings them again."""
    f = built().twice
    data, dumped = pickle.dumps(f), um.dumps(f)
    assert [pickle.loads(data), um.loads(dumped)] == [f, f]
    monkeypatch.setattr(serialize, "unpack", lambda *_, **__: pytest.fail("they were verified again"))
    assert pickle.loads(data) is f
    assert um.loads(dumped) is f


def test_bytes_that_only_end_as_known_ones_are_verified() -> None:
    data = um.dumps(built().twice)
    um.loads(data)
    with pytest.raises(TargetError, match="altered"):
        um.loads(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])


def test_known_bytes_still_need_the_key() -> None:
    data = um.dumps(built().twice)
    um.loads(data)
    with pytest.raises(TargetError, match="not signed"):
        um.loads(data, key="a key")


def test_compiling_again_does_not_part_a_function_from_its_pickle() -> None:
    source = "double again(double x) { return x + 1; }"
    first = um.c_ufunc(source)
    second = um.c_ufunc(source)
    assert pickle.loads(pickle.dumps(first)) is first
    assert pickle.loads(pickle.dumps(second)) is second


def test_functions_of_equal_text_and_other_options_are_not_taken_for_each_other() -> None:
    source = "double plus(double x, double y) { return x + y; }"
    made = [um.c_ufunc(source, identity=identity) for identity in (0, 1, None)]
    assert [um.loads(um.dumps(f)).identity for f in made] == [0, 1, None]


def test_two_threads_that_load_the_same_get_the_same(tmp_path: Path) -> None:
    data = [pack(altered(built().object_code, 70_000 + n), entry="twice") for n in range(20)]
    start = threading.Barrier(4)

    def load(_: int) -> list[np.ufunc]:
        start.wait()
        return [um.loads(d) for d in data]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(load, range(4))
    assert [[f is g for f, g in zip(first, other, strict=True)] for other in others] == [[True] * 20] * 3


def test_functions_of_one_build_share_one_payload_in_a_pickle() -> None:
    made = built()
    one = len(pickle.dumps(made.twice))
    assert len(pickle.dumps([*made.values(), made, {"again": made.twice}])) < one + 500


def test_a_one_line_function_is_at_most_48_kB() -> None:
    build = um.compile_c("double one_line(double x) { return 2 * x + 1; }")
    # gcc 16's libgcc asks for more processors, and its code for the driver is longer; so is code for arm64.
    most = 48_000 if build.object_code.toolchain.startswith("gcc 12.") else 52_000
    most = 56_000 if platform.machine() == "aarch64" else most
    assert len(um.dumps(build.one_line)) <= most
    assert len(pickle.dumps(build.one_line)) <= most


def test_pickles_call_a_path_that_never_moves() -> None:
    function, (payload, entry) = copyreg.dispatch_table[np.ufunc](built().twice)
    assert (function.__module__, function.__qualname__, entry) == ("ufunc_magic.serialize", "realize", "twice")
    assert unpack(payload)[0].functions[0].name == "twice"
    assert b"ufunc_magic.serialize\x94\x8c\x07realize" in pickle.dumps(built().twice, 4)


def test_what_is_not_ours_cannot_be_dumped() -> None:
    for other in (np.sin, len, np.frompyfunc(abs, 1, 1), lambda x: x, 3):
        with pytest.raises(SignatureError, match="not compiled"):
            um.dumps(other)


# Elsewhere: the same behaviour, with no compiler.


def test_every_kind_of_function_works_in_a_process_without_a_compiler(tmp_path: Path) -> None:
    shown = """
assert got.twice(0.0) == 2 and got.add(np.arange(3), 1).tolist() == [1, 2, 3]
assert got.gcd(np.array([12, -18]), 8).tolist() == [4, 2] and got.gcd.types == ["ii->i"]
assert got.gcd(np.int8(12), 8).dtype == np.int32
assert got.dot([[1, 2], [3, 4]], [1, 1]).tolist() == [3, 7] and got.dot.signature == "(n),(n)->()"
assert got.dot.identity == 0
assert [float(v) for v in got.polar(3.0, 0.0)] == [3, 0]
assert got.norm(got.norm.ffi.new("point *", [3, 4])[0]) == 5
assert got.twice.__doc__.startswith("twice(x") and "Twice the exponential." in got.twice.__doc__
assert type(got.twice) is np.ufunc
with np.errstate(all="raise"):
    try:
        got.twice(1e4)
    except FloatingPointError as error:
        print(got, "-", error)
"""
    expected = (
        "<Build <c>: twice d->d, add dd->d, gcd ii->i, dot dd->d, polar dd->dd, norm()> - overflow encountered in twice"
    )
    assert elsewhere(built(), shown, folder=tmp_path) == expected


def test_functions_travel_though_their_compiler_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = um.compile_c("double twice(double x) { return 2 * x; }\nint is_there(void *p) { return p != 0; }")
    with monkeypatch.context() as patch:
        patch.setenv("CC", "no-such-compiler")
        payloads = [um.dumps(made.twice), pickle.dumps(made.twice), pickle.dumps(made)]
        target = made.object_code.target
    assert um.loads(payloads[0])(2.0) == pickle.loads(payloads[1])(2.0) == pickle.loads(payloads[2]).twice(2.0) == 4
    shown = "print(got(2.0))"
    assert elsewhere(payloads[1], shown, folder=tmp_path) == "4.0"
    # The loaded code needs this CPU's level and no more; the code that a compiler makes later needs nothing.
    assert re.fullmatch(r"native:( x86_v\d)*|baseline", target.level)
    assert made.object_code.target.level == "baseline"


@pytest.mark.slow
def test_cplusplus_overloads_and_exceptions_work_elsewhere(tmp_path: Path) -> None:
    made = um.compile_c(CPP, cplus=True)
    shown = """
print(got.half.types, got.half(np.float32(3)), got.root(3.0))
try:
    got.root([4.0, -1.0])
except ValueError as error:
    print(error)
"""
    assert elsewhere(made, shown, folder=tmp_path) == "['f->f', 'd->d'] 1.5 9.0\nno real root"


@pytest.mark.slow
def test_parallel_functions_work_elsewhere(tmp_path: Path) -> None:
    made = um.compile_c("#include <math.h>\ndouble f(double x) { return sin(x); }", parallel=2)
    shown = """
x = np.linspace(0, 9, 300_000)
with got.threads(1):
    one = got.f(x)
print(got.object_code.threads, (got.f(x) == one).all(), np.allclose(one, np.sin(x), rtol=1e-14))
"""
    assert elsewhere(made, shown, folder=tmp_path) == "True True True"


def test_random_inputs_give_bit_for_bit_what_they_give_at_home(tmp_path: Path) -> None:
    x = np.random.default_rng(5).normal(scale=100, size=10_001)
    there = elsewhere(
        (built().twice, x), "f, x = got\nwith np.errstate(over='ignore'): print(f(x).tobytes().hex())", folder=tmp_path
    )
    with np.errstate(over="ignore"):
        assert bytes.fromhex(there) == built().twice(x).tobytes()


def test_a_pickle_of_a_pickle_is_the_same_bytes(tmp_path: Path) -> None:
    """So that a function that went through a worker is the same task to Dask."""
    f = built().twice
    assert bytes.fromhex(elsewhere(f, "print(pickle.dumps(got, 4).hex())", folder=tmp_path)) == pickle.dumps(f, 4)


def test_a_function_travels_on_from_worker_to_worker(tmp_path: Path) -> None:
    second = bytes.fromhex(elsewhere(built().twice, "print(pickle.dumps([got]).hex())", folder=tmp_path))
    assert elsewhere(second, "print(got[0](0.0))", folder=tmp_path) == "2.0"


@pytest.mark.slow
def test_two_objects_loaded_one_after_the_other_keep_their_own_code(tmp_path: Path) -> None:
    """Each was a descriptor of the same number, and glibc takes a path that it knows for the file that it knows."""
    data = [um.dumps(um.c_ufunc(f"double f(double x) {{ return x + {n}; }}")) for n in range(8)]
    script = "import ufunc_magic as um\nprint([int(um.loads(d)(0.0)) for d in got])"
    assert elsewhere(data, script, folder=tmp_path) == str(list(range(8)))


def test_loading_imports_no_compiler_and_starts_nothing(tmp_path: Path) -> None:
    data = um.dumps(um.compile_c("double twice(double x) { return x + x + 2; }"))
    script = """
import sys
import numpy as np
before = set(sys.modules)
import ufunc_magic as um
data = bytes.fromhex(sys.stdin.read())
assert um.loads(data).twice(0.0) == 2
names = {name.partition(".")[0] for name in set(sys.modules) - before}
ours = {name for name in sys.modules if name.startswith("ufunc_magic.")}
unwanted = "numba llvmlite Cython dask distributed subprocess tree_sitter tree_sitter_c IPython multiprocessing"
compiling = {n for n in ours if n.split(".")[1] in ("toolchain", "compilers", "backends", "build", "nvrtc")}
print(sorted(names & set(unwanted.split())), sorted(compiling))
"""
    ran = run_python(script, input=data.hex().encode(), PATH="", UFUNC_MAGIC_CACHE=str(tmp_path / "worker"))
    assert ran.stdout.strip() == "[] []"


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("kind", ["c", pytest.param("cython", marks=needs_cython)])
def test_loading_writes_no_file(tmp_path: Path, kind: str) -> None:
    data = um.dumps(built() if kind == "c" else um.compile_cython(CYTHON))
    script = """
import ufunc_magic as um
import ufunc_magic.serialize
import os
wrote = []
def hear(event, given):
    if event == "open" and not isinstance(given[0], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        wrote.append(given)
    if event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "subprocess.Popen", "os.fork"):
        wrote.append((event, given))
sys.addaudithook(hear)
f = um.loads(got)
print(len(f), wrote)
"""
    shown = elsewhere(data_of(data), script, folder=tmp_path, options=("-B",))
    assert shown == "6 []"
    assert not (tmp_path / "worker").exists()


def data_of(data: bytes) -> bytes:
    """A pickle of bytes, for `elsewhere`, which gives bytes on as they are."""
    return pickle.dumps(data)


@pytest.mark.slow
@on_linux
def test_descriptors_do_not_grow_over_a_thousand_objects(tmp_path: Path) -> None:
    code = unpack(um.dumps(built().twice))[0]
    script = """
import os, struct
import ufunc_magic as um
from dataclasses import replace
from ufunc_magic.model.object_code import pack, unpack
code, _ = unpack(got)
um.loads(got)
before = len(os.listdir("/proc/self/fd"))
for n in range(1000):
    f = um.loads(pack(replace(code, code=code.code + struct.pack("<I", n)), entry="twice"))
    assert f(0.0) == 2 and pickle.loads(pickle.dumps(f)) is f
print(len(os.listdir("/proc/self/fd")) - before)
"""
    assert elsewhere(data_of(pack(code)), script, folder=tmp_path) == "0"


def test_where_there_are_no_anonymous_files_the_cache_folder_serves(tmp_path: Path) -> None:
    script = """
import os
if hasattr(os, "memfd_create"):
    del os.memfd_create
import ufunc_magic as um
f, g = um.loads(got), um.loads(got)
print(f(0.0), f is g, um.cache.size() > 0)
"""
    assert elsewhere(data_of(um.dumps(built().twice)), script, folder=tmp_path) == "2.0 True True"


# What is not ours goes where it went before.


@TOUCHES_EVERY_MODULE
def test_other_ufuncs_pickle_as_before() -> None:
    assert pickle.loads(pickle.dumps(np.hypot)) is np.hypot
    assert pickle.dumps(np.hypot, 4) == b"\x80\x04\x95\x13\0\0\0\0\0\0\0\x8c\x05numpy\x94\x8c\x05hypot\x94\x93\x94."
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(np.frompyfunc(lambda a: a, 1, 1))


@TOUCHES_EVERY_MODULE
def test_ufuncs_of_scipy_pickle_as_before() -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    assert pickle.loads(pickle.dumps(special.expit)) is special.expit


def test_an_earlier_entry_of_somebody_else_still_serves_their_ufuncs(tmp_path: Path) -> None:
    script = """
import copyreg
def negative():
    return np.negative
def theirs(f):
    return (negative, ()) if f is np.positive else f.__name__
copyreg.pickle(np.ufunc, theirs)
import ufunc_magic as um
f = um.loads(got)
print(pickle.loads(pickle.dumps(np.positive)).__name__, pickle.loads(pickle.dumps(f)) is f)
"""
    assert elsewhere(data_of(um.dumps(built().twice)), script, folder=tmp_path) == "negative True"


# Who carries them.


def test_cloudpickle_carries_closures_that_refer_to_them(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed (extra: test)")
    f, made = built().twice, built()

    def outer(x: float) -> Any:
        return f(x) + made.add(x, 1) + sum(made[name].nin for name in made if name == "dot")

    assert cloudpickle.loads(cloudpickle.dumps(f)) is f
    assert elsewhere(cloudpickle.dumps(outer), "print(got(0.0))", folder=tmp_path) == "5.0"


@TOUCHES_EVERY_MODULE
def test_a_function_that_wraps_one_travels(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    twice = built().twice

    @functools.wraps(twice)
    def checked(x: float) -> Any:
        return twice(abs(x))

    assert elsewhere(cloudpickle.dumps(checked), "print(got(-1.0))", folder=tmp_path) == str(twice(1.0))


def test_spawned_processes_of_multiprocessing_call_them() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(built().twice, [0.0, 0.0, 0.0]) == [2, 2, 2]


# joblib sets environment variables of this process when it is imported.
@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("joblib"), reason="joblib is not installed")
def test_joblib_calls_them_in_processes() -> None:
    script = """
import sys, pickle, joblib
f = pickle.load(sys.stdin.buffer)
if __name__ == "__main__":
    print(joblib.Parallel(n_jobs=2)(joblib.delayed(f)(float(x)) for x in (0, 0)))
    print(joblib.hash(f) == joblib.hash(pickle.loads(pickle.dumps(f))))
"""
    ran = run_python(script, input=pickle.dumps(built().twice))
    assert ran.stdout.replace("np.float64(2.0)", "2.0") == "[2.0, 2.0]\nTrue\n"


def test_token_of_dask_is_the_same_in_every_process(tmp_path: Path) -> None:
    tokens = pytest.importorskip("dask.tokenize", reason="Dask is not installed (extra: test)")
    made = built()
    found = {name: tokens.tokenize(f) for name, f in made.items()} | {"": tokens.tokenize(made)}
    assert len(set(found.values())) == 7
    ran = run_python(
        "import sys, pickle; from dask.tokenize import tokenize; b = pickle.load(sys.stdin.buffer);"
        "print({n: tokenize(f) for n, f in b.items()} | {'': tokenize(b)})",
        input=pickle.dumps(made),
    )
    assert ran.stdout.strip() == str(found)


# Cython modules.


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
def test_cython_functions_classes_and_exceptions_work_elsewhere(tmp_path: Path) -> None:
    made = um.compile_cython(CYTHON)
    shown = """
print(got["square"]([3.0]).tolist(), got["pair"](1), got["counter"].up(), got["up"](), got["plain"].again().n)
try:
    got["root"]([4.0, -1.0])
except ValueError as error:
    print(type(error).__name__, error)
"""
    counter, plain = made.Counter(41), made.Plain(1)
    given = {
        "square": made.square,
        "pair": made.pair,
        "counter": counter,
        "up": counter.up,
        "plain": plain,
        "root": made.root,
    }
    assert elsewhere(given, shown, folder=tmp_path) == "[9.0] [1, 1] 42 43 2\nNegative -1.0 has no real root"


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
@pytest.mark.parametrize("name", ["square", "pair", "Counter", "Plain", "Negative"])
def test_everything_of_a_cython_cell_travels_in_its_build(tmp_path: Path, name: str) -> None:
    made = um.compile_cython(CYTHON)
    call = {"square": "(2.0)", "pair": "(4)", "Counter": "(3).up()", "Plain": "(4).n", "Negative": "(4).args[0]"}
    expected = "[4, 4]" if name == "pair" else "4.0" if name == "square" else "4"
    assert elsewhere(made, f"print(got.{name}{call[name]})", folder=tmp_path) == expected


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["Counter", "Plain"])
def test_an_object_of_a_cython_class_brings_its_class(tmp_path: Path, name: str, protocol: int) -> None:
    given = um.compile_cython(CYTHON)[name](6)
    assert elsewhere(pickle.dumps(given, protocol), "print(type(got).__name__, got.n)", folder=tmp_path) == f"{name} 6"


@needs_cython
@pytest.mark.cython
def test_objects_of_cython_classes_can_still_be_copied() -> None:
    made = um.compile_cython(CYTHON)
    for original in (made.Counter([1][0]), made.Plain([1])):
        again = copy.deepcopy(original)
        assert type(again) is type(original)
        assert again is not original
        assert again.n == original.n
    assert copy.copy(made.Plain([1])).n == [1]


@needs_cython
@pytest.mark.cython
def test_an_exception_of_a_cython_class_comes_home_as_the_class_of_home(tmp_path: Path) -> None:
    made = um.compile_cython(CYTHON)
    script = """
try:
    got([-1.0])
except ValueError as error:
    print(pickle.dumps(error).hex())
"""
    error = pickle.loads(bytes.fromhex(elsewhere(made.root, script, folder=tmp_path)))
    assert type(error) is made.Negative
    assert error.args == ("-1.0 has no real root",)


@needs_cython
@pytest.mark.cython
def test_methods_travel_and_functions_without_a_name_are_refused_where_they_are_pickled() -> None:
    made = um.compile_cython("class Deep:\n    def method(self): return 8\nnameless = lambda x: x\n")
    assert pickle.loads(pickle.dumps(made.Deep.method)) is made.Deep.method
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made.nameless)
    with pytest.raises(SignatureError):
        um.dumps(made.nameless)


NAMED = """
def f(x):
    return [x] * {n}
cdef class C:
    cdef public int x
    def __init__(self, x):
        self.x = x
    def times(self):
        return self.x * {n}
    @classmethod
    def made(cls, x):
        return cls(x)
"""


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
@pytest.mark.parametrize("order", [1, -1], ids=["old first", "new first"])
def test_versions_of_a_named_module_keep_their_own_functions_and_classes(tmp_path: Path, order: int) -> None:
    made = [um.compile_cython(NAMED.format(n=n), name="edited_module") for n in (2, 3)]
    given = [pickle.dumps((m.f, m.C(5), m.C(7).times)) for m in made][::order]
    for data, m in zip(given, made[::order], strict=True):
        again = pickle.loads(data)
        assert (again[0] is m.f, type(again[1]) is m.C) == (True, True)
    assert type(copy.copy(made[0].C(1))) is made[0].C
    assert um.loads(um.dumps(made[1].f)) is made[1].f
    script = """
for data in got + got:
    f, instance, method = pickle.loads(data)
    print(len(f(1)), instance.times(), method(), end=" ")
"""
    expected = ["2 10 14", "3 15 21"][::order]
    assert elsewhere(given, script, folder=tmp_path) == " ".join(expected * 2)


@pytest.mark.slow
@needs_cython
@pytest.mark.cython
@TOUCHES_EVERY_MODULE
def test_cloudpickle_carries_class_methods_of_a_cell(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    made = um.compile_cython(NAMED.format(n=4))
    assert elsewhere(cloudpickle.dumps(made.C.made), "print(got(2).times())", folder=tmp_path) == "8"


# What was altered, cut, or made by another version is refused.


SMALL = ObjectCode(
    b"\x7fELF\0code",
    runtime.describe_target(),
    (),
    source="double f(double x) { return x; }",
    name="In[3]",
    toolchain="gcc 12",
)


@pytest.mark.parametrize("key", [b"", b"secret"], ids=["unsigned", "signed"])
def test_no_byte_can_be_altered(key: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("altered object code was opened")

    monkeypatch.setattr(serialize, "load", opened)
    data = pack(SMALL, entry="f", key=key)
    for place in range(len(data)):
        for other in (data[place] ^ 1, data[place] ^ 0x80, 0, 0xFF):
            if other != data[place]:
                with pytest.raises(TargetError):
                    um.loads(data[:place] + bytes([other]) + data[place + 1 :], key=key)


@given(place=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_no_byte_of_a_real_payload_can_be_altered(place: float, change: int) -> None:
    data = bytearray(um.dumps(built().twice))
    data[int(place * len(data))] ^= change
    with pytest.raises(TargetError):
        um.loads(bytes(data))


@given(st.floats(0, 1, exclude_max=True))
def test_no_part_of_a_payload_is_taken_for_the_whole(share: float) -> None:
    data = um.dumps(built().twice)
    with pytest.raises(TargetError):
        um.loads(data[: int(share * len(data))])


def test_nothing_can_be_added_to_a_payload() -> None:
    data = um.dumps(built().twice)
    for extended in (data + b"\0", data + data, data + 32 * b"\0", b"\0" + data):
        with pytest.raises(TargetError):
            um.loads(extended)


def test_other_versions_and_other_files_are_named() -> None:
    data = um.dumps(built().twice)
    with pytest.raises(TargetError, match=f"format {FORMAT_VERSION + 1}"):
        um.loads(data[:4] + struct.pack("<H", FORMAT_VERSION + 1) + data[6:])
    for other in (b"", b"\x7fELF" + data[4:], built().object_code.code, pickle.dumps(1)):
        with pytest.raises(TargetError, match="are not ufunc_magic object code"):
            um.loads(other)


def sealed(header: bytes, code: bytes = b"code") -> bytes:
    """A wire form with any header, and a good seal."""
    head = struct.pack("<4sHHII", b"UFMO", FORMAT_VERSION, 0, len(header), len(code))
    return head + header + code + hashlib.sha256(head + header + hashlib.sha256(code).digest()).digest()


@pytest.mark.parametrize(
    "header",
    [b"", b"null", b"[]", b"{}", b"\xff", b'{"target":{}}', b"[" * 100_000, b'{"entry":"f"}'],
    ids=["empty", "null", "list", "object", "not UTF-8", "no target", "deep", "only entry"],
)
def test_a_sealed_header_that_makes_no_sense_is_refused(header: bytes) -> None:
    with pytest.raises(TargetError, match="header cannot be read"):
        um.loads(sealed(header))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["target", "functions", "loops", "types", "entry", "name", "kind"]), inner
            )
        ),
        max_leaves=8,
    ),
    st.sampled_from(sorted(json.loads(SMALL.header))),
)
def test_no_field_of_a_sealed_header_raises_anything_else(value: Any, field: str) -> None:
    header = json.dumps({**json.loads(SMALL.header), field: value}).encode()
    with contextlib.suppress(TargetError):
        unpack(sealed(header))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("target", "libc"), 1),
        (("options",), []),
        (("entry",), 1),
        (("functions", 0, "parameters"), [1]),
        (("functions", 0, "kind"), ["ufunc"]),
        (("functions", 0, "identity"), 2),
        (("functions", 0, "nin"), 65),
        (("functions", 0, "nout"), 2),
        (("functions", 0, "loops", 0, "index"), -1),
        (("functions", 0, "loops", 0, "types"), [12, 17]),
    ],
    ids=lambda given: ".".join(map(str, given)) if isinstance(given, tuple) else None,
)
def test_a_header_with_a_wrong_value_is_refused_before_numpy_sees_it(place: tuple[Any, ...], value: Any) -> None:
    header = inner = json.loads(built().object_code.header)
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(TargetError, match="header cannot be read"):
        unpack(sealed(json.dumps(header).encode()))


def test_nothing_that_only_reports_show_is_sent() -> None:
    functions = json.loads(built().object_code.header)["functions"]
    reported = "timed cautious samples effects python_name python checked vector python_reason notes".split()
    assert [set(function) & set(reported) for function in functions] == [set()] * len(functions)


def test_paths_in_pickles_are_those_of_the_first_release() -> None:
    assert b"ufunc_magic.serialize" in pickle.dumps(built().twice)
    assert (door.realize.__module__, door.realize.__qualname__) == ("ufunc_magic.serialize", "realize")
    assert (door._after.__module__, door._after.__qualname__) == ("ufunc_magic.serialize", "_after")


def test_a_name_that_the_object_does_not_have_is_refused() -> None:
    with pytest.raises(TargetError, match=r"(?s)'thrice'.*twice, add, gcd, dot, polar, norm"):
        um.loads(pack(built().object_code, entry="thrice"))


# Signing.


def test_a_signed_payload_needs_its_key() -> None:
    f = built().twice
    data = um.dumps(f, key="secret")
    assert um.loads(data, key=b"secret") is f
    assert um.loads(data, key="") is f
    with pytest.raises(TargetError, match="signed with another key"):
        um.loads(data, key="Secret")


def test_an_unsigned_payload_is_refused_where_a_key_is_set() -> None:
    with pytest.raises(TargetError, match="not signed"):
        um.loads(um.dumps(built().twice), key="secret")


def test_a_seal_made_anew_does_not_replace_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can write bytes can compute SHA-256; only who has the key can sign."""
    monkeypatch.setattr(serialize, "load", lambda *_, **__: pytest.fail("it was opened"))
    code = altered(built().object_code, 1)
    signed = um.dumps(built().twice, key="secret")
    resealed = pack(code, entry="twice", key=b"other")
    for forged in (pack(code, entry="twice"), resealed, resealed[:-32] + signed[-32:]):
        with pytest.raises(TargetError):
            um.loads(forged, key="secret")


def test_signature_is_hmac_sha256_of_the_seal() -> None:
    data = um.dumps(built().twice, key="secret")
    assert data[-32:] == hmac.digest(b"secret", data[-64:-32], "sha256")


def test_key_of_the_environment_signs_pickles_and_verifies_them(monkeypatch: pytest.MonkeyPatch) -> None:
    f = built().twice
    unsigned, unsigned_dump = pickle.dumps(f), um.dumps(f)
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "secret")
    signed = pickle.dumps(f)
    assert pickle.loads(signed) is f
    assert um.loads(um.dumps(f)) is f
    for refused in (lambda: pickle.loads(unsigned), lambda: um.loads(unsigned_dump)):
        with pytest.raises(TargetError, match="not signed"):
            refused()
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "another")
    with pytest.raises(TargetError, match="another key"):
        pickle.loads(signed)
    monkeypatch.delenv("UFUNC_MAGIC_KEY")
    assert pickle.dumps(f) == unsigned


@pytest.mark.parametrize("data", ["text", 7])
def test_what_is_not_bytes_is_refused(data: object) -> None:
    with pytest.raises(TypeError, match=f"dumps\\(\\).* not {type(data).__name__}"):
        um.loads(data)  # type: ignore[arg-type]


@pytest.mark.slow
@on_linux
def test_key_of_the_environment_may_hold_any_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(os.environb, b"UFUNC_MAGIC_KEY", b"\xff\xfe key")
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path))
    f = um.c_ufunc("double signed_by_bytes(double x) { return x; }")  # the cache signs, too
    assert um.loads(um.dumps(f), key=b"\xff\xfe key") is f


def test_a_worker_with_another_key_loads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "secret")
    data = pickle.dumps(pickle.dumps(built().twice))
    script = """
from ufunc_magic.model.errors import TargetError
try:
    print(pickle.loads(got)(0.0))
except TargetError as error:
    print(error.message)
"""
    assert elsewhere(data, script, folder=tmp_path, UFUNC_MAGIC_KEY="secret") == "2.0"
    refusal = "This object code was signed with another key, or was altered later."
    assert elsewhere(data, script, folder=tmp_path, UFUNC_MAGIC_KEY="other") == refusal


# Another machine.


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"os": "plan9"}, "plan9"),
        ({"machine": "riscv128"}, "riscv128"),
        ({"format": "pe", "os": "win32", "machine": "amd64"}, "win32 amd64"),
        pytest.param({"libc": "glibc 99.1"}, "glibc 99.1", marks=on_linux),
    ],
    ids=["OS", "machine", "format", "libc"],
)
def test_code_for_another_machine_is_refused_naming_both(change: dict[str, str], named: str) -> None:
    data = foreign(altered(built().object_code, 2), **change)
    with pytest.raises(TargetError) as refused:
        um.loads(data)
    here = runtime.describe_target()
    assert named in refused.value.message
    assert f"this process is {here.os} {here.machine}" in refused.value.message


def test_code_for_a_cpu_with_more_instructions_is_refused_and_never_run() -> None:
    data = foreign(altered(built().object_code, 3), level=" ".join(["native: avx9000", *runtime.cpu_features()]))
    with pytest.raises(TargetError, match="avx9000"):
        um.loads(data)


def test_native_code_says_what_it_needs_and_runs_where_it_was_made() -> None:
    f = um.c_ufunc("double native(double x) { return x * 3; }", arch="native")
    level = unpack(um.dumps(f))[0].target.level
    assert level.startswith("native: ")
    assert set(level.removeprefix("native: ").split()) <= set(runtime.cpu_features())
    assert um.loads(um.dumps(f)) is f


def test_default_code_runs_on_every_cpu_of_its_kind() -> None:
    assert built().object_code.target.level == "baseline"


@pytest.mark.parametrize(
    "change", [{"os": "plan9"}, {"level": "native: avx9000"}, {"machine": "riscv128"}], ids=["OS", "CPU", "machine"]
)
def test_source_that_came_along_is_compiled_where_the_code_cannot_run(change: dict[str, str]) -> None:
    data = foreign(altered(built().object_code, 4), **change)
    f = um.loads(data, rebuild="missing")
    assert f(0.0) == 2
    assert um.loads(um.dumps(f), rebuild="missing") is f


def test_rebuilding_keeps_the_options() -> None:
    source = "T plus(T x, T y) { return x + y; }"
    made = um.compile_c(source, types="f4,f8", identity=0, arch="native")
    data = pack(replace(made.object_code, target=replace(made.object_code.target, os="plan9")), entry="plus")
    again = um.loads(data, rebuild="missing")
    assert (again.types, again.identity) == (["ff->f", "dd->d"], 0)
    cpp = um.compile_c(CPP, cplus=True).object_code
    data = pack(replace(cpp, target=replace(cpp.target, os="plan9")), entry="half")
    assert um.loads(data, rebuild="missing").types == ["f->f", "d->d"]


def test_code_that_runs_here_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    f = built().twice
    monkeypatch.setattr("ufunc_magic.pipeline.build", lambda *_, **__: pytest.fail("it was compiled"))
    assert um.loads(um.dumps(f), rebuild="missing") is f


def test_without_its_source_it_cannot_be_compiled_elsewhere() -> None:
    bare = unpack(um.dumps(built().twice, source=False))[0]
    assert SOURCE.encode() not in bare.header
    with pytest.raises(TargetError, match=r"plan9.*source"):
        um.loads(foreign(altered(bare, 7), os="plan9"), rebuild="missing")


def test_altered_bytes_are_not_a_reason_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(um.dumps(built().twice))
    monkeypatch.setattr("ufunc_magic.pipeline.build", lambda *_, **__: pytest.fail("it was compiled"))
    data[-40] ^= 1
    with pytest.raises(TargetError, match="altered"):
        um.loads(bytes(data), rebuild="missing")


def test_a_word_for_rebuild_that_is_not_known_is_refused() -> None:
    with pytest.raises(OptionError, match="rebuild='always'"):
        um.loads(um.dumps(built().twice), rebuild="always")  # type: ignore[arg-type]


@needs_cython
@pytest.mark.cython
def test_a_cython_module_of_another_python_is_refused_and_can_be_rebuilt() -> None:
    made = um.compile_cython("def third(double x): return x / 3\n").object_code
    data = pack(replace(made, target=replace(made.target, python="cpython-299-x86_64")), entry="third")
    with pytest.raises(TargetError, match=r"cpython-299-x86_64"):
        um.loads(pack(altered(unpack(data)[0], 5)))
    assert um.loads(pack(altered(unpack(data)[0], 6), entry="third"), rebuild="missing")(6.0) == 2


# Looking at one.


def test_inspect_shows_what_a_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.ufm"
    path.write_bytes(um.dumps(built().twice, key="secret"))
    assert __main__.main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    here = runtime.describe_target()
    size = f"{path.stat().st_size:,}"
    assert shown.startswith(f"ufunc_magic object code, {size} bytes, signed (not verified here)\n")
    for line in (
        "  function      twice\n",
        f"  target        {here.os} {here.machine}",
        "  CPU level     baseline\n",
        "  gcd(a, b)  ii->i\n",
        "  dot(a, b)  (n),(n)->()  dd->d\n",
        "  norm(p)  a C function\n",
        "  // Twice the exponential.\n",
        hashlib.sha256(built().object_code.code).hexdigest(),
    ):
        assert line in shown


def test_inspect_refuses_what_is_no_object_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").write_bytes(b"something else")
    assert __main__.main(["inspect", str(tmp_path / "other")]) == 1
    assert __main__.main(["inspect", str(tmp_path / "absent")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "TargetError: These 14 bytes are not ufunc_magic object code" in said.err
    assert "absent cannot be read" in said.err


def test_contents_tell_a_module_its_python_and_what_goes_without_source() -> None:
    code = replace(SMALL, module="_ufm_1", preload=("numpy",), source="", threads=True, options={"fast_math": True})
    assert (
        describe_contents(code)
        == f"""ufunc_magic object code
  function      all
  target        {code.target}
  CPU level     baseline
  compiled by   gcc 12, from c
  module        _ufm_1
  imports first numpy
  options       fast_math=True
  threads       supports several
  code          9 bytes, SHA-256 {code.code_digest}
  source        none
functions"""
    )
