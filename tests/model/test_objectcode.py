"""ObjectCode: what goes out comes back, and what was altered on the way is refused, never read as something else."""

from __future__ import annotations

import pickle
import struct
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from ufunc_magic.model import (
    CellFunction,
    CompiledCell,
    Diagnostic,
    FunctionCode,
    LoopCode,
    ObjectCode,
    ReportData,
    Target,
    TargetError,
    find_required_glibc,
)
from ufunc_magic.model.object_code import FORMAT_VERSION

SAMPLE = ObjectCode(
    code=b"\x7fELF machine code \0\xff",
    target=Target("elf", "linux", "x86_64", "glibc 2.35"),
    functions=(
        FunctionCode(
            "hypot",
            "ufunc",
            2,
            1,
            identity=0,
            parameters=("x", "y"),
            results=("out",),
            loops=(LoopCode(0, (12, 12, 12)),),
        ),
        FunctionCode("dot", "ufunc", 2, 1, core="(n),(n)->()", identity="reorderable", loops=(LoopCode(1, (11,) * 3),)),
        FunctionCode("fill", "plain", index=0, declaration="void (*)(double *, int)", reason="has no output"),
    ),
    toolchain="gcc 12.2.0",
    source="double hypot(double x, double y) { return x; } // ünïcödé",
    name="In[3]",
    threads=True,
)


def test_wire_form_comes_back_equal() -> None:
    again = ObjectCode.from_bytes(SAMPLE.to_bytes())
    assert again == SAMPLE
    assert hash(again) == hash(SAMPLE)
    assert (again.functions, again.target) == (SAMPLE.functions, SAMPLE.target)
    assert again.to_bytes() == SAMPLE.to_bytes()


def test_pickle_takes_the_wire_form_only() -> None:
    assert SAMPLE.to_bytes() in pickle.dumps(SAMPLE)
    assert pickle.loads(pickle.dumps(SAMPLE)) == SAMPLE


def test_a_cell_comes_back_equal_from_its_record() -> None:
    functions = tuple(
        CellFunction(**vars(f), notes=("a word",), python="def f(x):\n    return x\n", timed=(12, 12))
        for f in SAMPLE.functions
    )
    warning = Diagnostic("warning", "unused variable 'y'", "In[3]", 1, 20, "-Wunused-variable")
    cell = CompiledCell(SAMPLE, ReportData(functions, (warning,), ("a word to the user",), "cc", "{}"))
    assert tuple(f.function_code for f in functions) == SAMPLE.functions
    again = CompiledCell.from_record(cell.to_record(), SAMPLE.code, code_digest=SAMPLE.code_digest)
    assert (again.object_code, again.report_data) == (cell.object_code, cell.report_data)
    assert b"a word" not in SAMPLE.to_bytes()


def test_parts_come_back_equal() -> None:
    assert ObjectCode.from_parts(SAMPLE.header, SAMPLE.code) == SAMPLE


@pytest.mark.parametrize(
    "other",
    [
        replace(SAMPLE, code=SAMPLE.code + b"\0"),
        replace(SAMPLE, target=replace(SAMPLE.target, machine="aarch64")),
        replace(SAMPLE, functions=SAMPLE.functions[:2]),
        replace(SAMPLE, functions=(replace(SAMPLE.functions[0], identity=1), *SAMPLE.functions[1:])),
        replace(SAMPLE, source=SAMPLE.source + " "),
        replace(SAMPLE, threads=False),
    ],
    ids=["code", "machine", "functions", "identity", "source", "threads"],
)
def test_digest_differs_on_every_part(other: ObjectCode) -> None:
    assert other.digest != SAMPLE.digest
    assert other != SAMPLE


def test_it_is_equal_to_nothing_else() -> None:
    different = object()
    assert different != SAMPLE


def test_code_and_source_stay_out_of_the_repr() -> None:
    assert "machine code" not in repr(SAMPLE)
    assert "ünïcödé" not in repr(SAMPLE)


@pytest.mark.parametrize("length", [0, 3, 11, 12, 40, 200])
def test_truncated_bytes_are_refused(length: int) -> None:
    with pytest.raises(TargetError):
        ObjectCode.from_bytes(SAMPLE.to_bytes()[:length])


def test_newer_format_is_named_in_the_refusal() -> None:
    data = bytearray(SAMPLE.to_bytes())
    struct.pack_into("<H", data, 4, FORMAT_VERSION + 1)
    with pytest.raises(TargetError, match=f"format {FORMAT_VERSION + 1}"):
        ObjectCode.from_bytes(bytes(data))


def test_header_of_other_fields_is_refused() -> None:
    for altered in (
        SAMPLE.header.replace(b'"target"', b'"tarpit"'),
        SAMPLE.header.replace(b'"machine"', b'"engine"'),
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b'{"target": 1}',
    ):
        with pytest.raises(TargetError):
            ObjectCode.from_parts(altered, SAMPLE.code)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(TargetError):
        ObjectCode.from_bytes(data)


@given(st.binary(max_size=100), st.integers(0, 2**32 - 1))
def test_no_bytes_behind_a_good_start_raise_anything_else(data: bytes, length: int) -> None:
    with pytest.raises(TargetError):
        ObjectCode.from_bytes(struct.pack("<4sHHI", b"UFMO", FORMAT_VERSION, 0, length) + data)


@given(st.integers(12, 12 + len(SAMPLE.header) - 1), st.integers(0, 255))
def test_altered_header_is_refused_or_has_another_digest(place: int, value: int) -> None:
    data = bytearray(SAMPLE.to_bytes())
    if data[place] == value:
        return
    data[place] = value
    try:
        read = ObjectCode.from_bytes(bytes(data))
    except TargetError:
        return
    assert read.digest != SAMPLE.digest


def test_newest_glibc_symbol_is_what_the_code_needs() -> None:
    assert find_required_glibc(b"..GLIBC_2.2.5\0GLIBC_2.35\0GLIBC_2.4\0..") == "glibc 2.35"
    assert find_required_glibc(b"GLIBC_PRIVATE\0GLIBC_2.x\0") == ""
    assert find_required_glibc(b"") == ""
