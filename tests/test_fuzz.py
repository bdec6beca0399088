"""Random functions beside a second opinion on C; damaged text and object code; fuzzers on the readers.

The long forms of all this are in ``.ci/nightly``.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from fuzz import campaign, compare, cvalues, grow, plain_gcc, texts
from fuzz.ctree import Binary, Function, Literal, Parameter, Return, Unary, Variable
from ufunc_magic import cells, forms, model
from ufunc_magic.codegen import unit as codegen
from ufunc_magic.languages.c import lower, parser as cparse
from ufunc_magic.model import Options, make_options
from ufunc_magic.notebook import option_line as arguments
from ufunc_magic.runtime import loader

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent

SEED = 20261121


# -- functions


def test_random_functions_are_what_c_says() -> None:
    """600 functions, each called in ten ways; most also as the Python of a report.  ``.ci/nightly`` has 100,000."""
    outcome = campaign.run(SEED, count=600)
    assert outcome.refused == ()
    assert "\n\n".join(map(str, outcome.faults)) == ""
    assert outcome.functions == 600
    assert outcome.python > 340, "too few Python forms for this to say much"


def test_a_wrong_result_is_found_and_made_small() -> None:
    """The search itself: a function whose tree says something else than its text."""
    int_, x = cvalues.TYPES["i"], Parameter("x", cvalues.TYPES["i"])
    lie = Literal("2", 3, int_)
    wrong = Function("wrong", int_, (x,), (Return(lie, int_),))
    batch = compare.BATCHES[0]
    made = [*grow.functions(1, count=2, style=batch.style), wrong]
    faults, _ = compare.faults(made, batch, compare.compiled(made, batch), seed=1)
    assert [fault.function.name for fault in faults] == ["wrong"]
    small = compare.reduced(faults[0], batch, seed=1, tries=4)
    assert "int wrong(int x)" in str(small)
    assert small.got == "np.int32(2)"


def test_random_functions_are_bit_for_bit_what_a_plain_loop_gives(tmp_path: Path) -> None:
    """``--strict``, and integers without it; ``benchmarks/exactness.py`` has the long run."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    for mode in plain_gcc.BATCHES:
        *_, tally = plain_gcc.campaign(SEED, count=81, mode=mode, folder=tmp_path)
        assert "\n\n".join(map(str, tally.faults)) == ""
        assert tally.functions == 81


def test_another_sign_of_a_zero_in_the_plain_loop_is_found(tmp_path: Path) -> None:
    """The search itself."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    double = cvalues.TYPES["d"]
    batch = compare.Batch(grow.Style("d", plain=True), {"strict": True, "compile_args": ["-O0"]}, 1.0)
    zero = Binary("*", Variable("x", double), Literal("0.0", 0.0, double))
    ours = Function("f", double, (Parameter("x", double),), (Return(zero, double),))
    other = replace(ours, body=(Return(Unary("-", zero), double),))
    same, wrong = (
        plain_gcc.compared([ours], [f], batch, seed=1, library=tmp_path / f"{n}.so", tally=plain_gcc.Tally())
        for n, f in enumerate((ours, other))
    )
    assert same.faults == []
    assert [fault.function.name for fault in wrong.faults] == ["f"]


@pytest.mark.parametrize("char", "?bBhHiIlLqQ")
def test_second_opinion_wraps_as_numpy_does(char: str) -> None:
    kind = cvalues.TYPES[char]
    for value in (0, 1, -1, 255, 1 << 31, -(1 << 63), (1 << 64) - 1):
        wrapped = cvalues.convert(value, cvalues.TYPES["q"], kind)
        expected = np.array([value & (1 << 64) - 1], np.uint64).astype(np.dtype(char))[0]
        assert wrapped == expected


# -- text


def _said(error: um.UfuncMagicError) -> None:
    """Whether a person can read what an error says."""
    assert str(error)
    assert "__ufm" not in str(error)
    assert "Traceback" not in str(error)


def _translated(text: str) -> None:
    """Everything that happens to a cell before a compiler sees it."""
    for cplus in (False, True):
        unit, tree = cparse.parse_cell(text, cplus=cplus)
        try:
            signatures, plain, faults = cells.plan_operands(unit, options=Options(cplus=cplus))
            for _, fault in faults.values():
                _said(fault)
            made = ["::".join([*p.function.scope, p.function.name]) for p in plain]
            codegen.translate(
                text,
                unit=unit,
                signatures=signatures,
                exports=codegen.Exports(made),
                options=Options(cplus=cplus),
                name="In[3]",
            )
        except um.UfuncMagicError as error:
            _said(error)
            continue
        for signature in signatures[:4]:
            forms.write(lower(tree), signature=signature, unit=unit)


def _damaged(rng: random.Random) -> Iterator[str]:
    for text in texts.good_cells():
        yield from texts.cut(text, step=max(7, len(text) // 12))
        yield from (texts.mutated(text, rng) for _ in range(6))
        yield texts.shuffled(text, rng)
    yield from (texts.mixed(rng) for _ in range(300))


@pytest.mark.nightly
def test_damaged_cells_are_read_without_a_fault_of_ours() -> None:
    for text in _damaged(random.Random(SEED)):
        _translated(text)


@pytest.mark.parametrize("what", texts.deep(1))
def test_cell_nested_thousands_deep_is_read_without_a_fault_of_ours(what: str) -> None:
    _translated(texts.deep(5000 if what != "typedefs" else 500)[what])


def test_sum_of_thousands_of_terms_is_bound() -> None:
    """As code generators write it; Python itself gives up on it."""
    made = um.compile_c(texts.deep(3000)["sum"], compile_args=["-O0"])
    assert made.f(2.0) == 6002


def test_damaged_cells_compile_or_say_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of them, all the way; what compiles is not called, for it may do anything."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(SEED)
    tried = [t for t in _damaged(rng) if "asm" not in t and "constructor" not in t]
    refused = 0
    for text in rng.sample(tried, 30):
        try:
            um.compile_c(text, compile_args=["-O0"])
        except um.UfuncMagicError as error:
            refused += 1
            _said(error)
    assert refused > 5


def test_option_lines_are_read_or_refused_in_words() -> None:
    rng = random.Random(SEED)
    for _ in range(3000):
        line = texts.option_line(rng)
        try:
            given = arguments.parse(line)
            given.pop("help", None)
            make_options(given)
        except um.OptionError as error:
            _said(error)
        arguments.complete(line)


# -- object code


@pytest.fixture(scope="module")
def payload(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path_factory.mktemp("payload")))
        return um.dumps(um.c_ufunc("double f(double x) { return 2 * x; }", compile_args=["-O1"]))


def _damages(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Cut, flipped, doubled, joined, with other lengths in the head."""
    yield from (data[:end] for end in (*range(40), *(rng.randrange(len(data)) for _ in range(40))))
    for _ in range(400):
        place = rng.randrange(len(data)) if rng.random() < 0.5 else rng.randrange(2000)
        yield data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    for _ in range(60):
        start, end = sorted(rng.randrange(len(data)) for _ in range(2))
        yield data[:start] + data[end:]
        yield data + data[start:end]
    for _ in range(60):
        head = struct.pack("<4sHHII", b"UFMO", 1, rng.choice((0, 1)), rng.getrandbits(32), rng.getrandbits(32))
        yield head + data[16:]


def test_damaged_object_code_is_refused_before_it_is_opened(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> object:
        raise AssertionError("opened")

    monkeypatch.setattr(loader, "open_library", opened)
    monkeypatch.setattr(loader, "open_in_memory", opened)
    for damaged in _damages(payload, random.Random(SEED)):
        if damaged != payload:
            with pytest.raises(um.TargetError):
                um.loads(damaged)


def test_object_code_sealed_anew_with_any_header_is_read_or_refused(payload: bytes) -> None:
    """A bug, or somebody who means it: the seal is right and the header is anything."""
    rng = random.Random(SEED)
    header, code = _parts(payload)
    accepted = 0
    for _ in range(500):
        damaged = _changed(header, rng)
        try:
            model.unpack(_sealed(damaged, code))
            accepted += 1
        except um.TargetError as error:
            _said(error)
    assert accepted < 500


def _parts(payload: bytes) -> tuple[bytes, bytes]:
    _, _, _, header, code = struct.unpack_from("<4sHHII", payload)
    return payload[16 : 16 + header], payload[16 + header : 16 + header + code]


def _sealed(header: bytes, code: bytes) -> bytes:
    head = struct.pack("<4sHHII", b"UFMO", 1, 0, len(header), len(code))
    return b"".join((head, header, code, hashlib.sha256(head + header + hashlib.sha256(code).digest()).digest()))


_VALUES = (
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b'"x"',
    b"true",
    b"[[]]",
    b"[" * 5000,
    b"99999999999999999999",
    b'"\\ud800"',
    b"",
)


def _changed(header: bytes, rng: random.Random) -> bytes:
    """The header with some of its values replaced."""
    places = [m.span() for m in re.finditer(rb'(?<=:)(?:"[^"]*"|\d+|null|true|false|\[[^\[\]]*\])', header)]
    for start, end in sorted(rng.sample(places, rng.randint(1, 3)), reverse=True):
        header = header[:start] + rng.choice(_VALUES) + header[end:]
    return header


# -- fuzzers that watch which lines run


def _atheris() -> str:
    """A Python that has atheris, or ``""``."""
    for python in (sys.executable, os.environ.get("UFUNC_MAGIC_ATHERIS", "")):
        if python and not subprocess.run([python, "-c", "import atheris"], capture_output=True, timeout=300).returncode:
            return python
    return ""


@pytest.mark.parametrize("target", ["cparse", "arguments", "objectcode"])
def test_atheris_finds_nothing_in_a_few_seconds(target: str, tmp_path: Path) -> None:
    python = _atheris()
    if not python:
        pytest.skip("atheris is not installed; UFUNC_MAGIC_ATHERIS names a Python that has it")
    command = [
        python,
        "-P",
        str(HERE / "fuzz" / "atheris_target.py"),
        target,
        "-max_total_time=6",
        f"-artifact_prefix={tmp_path}/",
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.search(r"Done \d+ runs", done.stderr), done.stderr[-2000:]
