"""``python atheris_target.py cparse|arguments|objectcode [options]``: coverage-guided fuzzing of the readers."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["ufunc_magic"]):
    from ufunc_magic.cells import operands, ufunc_comment as annotation
    from ufunc_magic.languages.c import parser as cparse
    from ufunc_magic.model import TABLE, Options, UfuncMagicError, make_options, object_code as objectcode
    from ufunc_magic.notebook import option_line as arguments


def read_cell(data: bytes) -> None:
    text = data.decode(errors="replace")
    cplus = text[:1] == "+"
    try:
        annotation.read(text[:200], of="f")
        operands.plan_operands(cparse.parse(text, cplus=cplus), options=Options(cplus=cplus))
        cparse.parse_cell(f"#if 1\n{text}", name="In[3]", preprocess=lambda _: f'# 2 "In[3]"\n{text}', cplus=cplus)
    except UfuncMagicError as error:
        str(error)


def read_options(data: bytes) -> None:
    text = data.decode(errors="replace")
    arguments.complete(text)
    try:
        given = arguments.parse(text)
        given.pop("help", None)
        make_options(given)
    except UfuncMagicError as error:
        str(error)


def read_object_code(data: bytes) -> None:
    try:
        objectcode.unpack(data)
    except UfuncMagicError as error:
        str(error)
    # The seal would stop everything: the header by itself, too.
    try:
        objectcode.ObjectCode.from_parts(data, b"code")
    except UfuncMagicError as error:
        str(error)


TARGETS = {"cparse": read_cell, "arguments": read_options, "objectcode": read_object_code}


def seeds(name: str) -> list[bytes]:
    """What the search begins with: it finds no C, and no JSON, by itself."""
    if name == "cparse":
        return [
            path.read_bytes() for path in sorted((ROOT / "tests" / "cells").glob("*/*.c")) if path.stat().st_size < 3000
        ]
    if name == "arguments":
        return [option.example.encode() for option in TABLE]
    loop = objectcode.LoopCode(0, (12, 12))
    function = objectcode.FunctionCode(
        name="f", kind="ufunc", nin=1, nout=1, parameters=("x",), results=("out",), loops=(loop,)
    )
    made = objectcode.ObjectCode(
        b"code", objectcode.Target("elf", "linux", "x86_64"), (function,), language="c", toolchain="gcc"
    )
    return [objectcode.pack(made), objectcode.pack(made, entry="f", key=b"k"), made.header]


if __name__ == "__main__":
    name = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds(name)):
            Path(folder, str(number)).write_bytes(seed)
        # libFuzzer ends the process, and leaves the folder: it is removed by whoever gave it a place.
        atheris.Setup([*sys.argv, folder], TARGETS[name])
        atheris.Fuzz()
