"""The loops of a table are compiled alone, to assembly: the compiler reports the same on them as in the whole cell."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ufunc_magic import codegen, compilers, render
from ufunc_magic.languages import c
from ufunc_magic.model import CompiledCell, Options, make_options

pytestmark = pytest.mark.skipif(compilers.find().kind == "zig", reason="zig keeps no assembly")

LANGUAGE = c.LANGUAGE
#: Cells with the functions that are shown of them; each has another one with a loop.
OTHER = "double other(double x) { for (int i = 0; i < 9; i++) x += x / (i + 1); return x; }\n"
CELLS = {
    "sum": "// ufunc: (n)->()\ndouble f(const double *a, int n) {\n    double s = 0;\n"
    "    for (int i = 0; i < n; i++) s += a[i];\n    return s;\n}\n",
    "array": "// ufunc: (n)->(n)\nvoid f(const double *a, double *b, int n) {\n"
    "    for (int i = 0; i < n; i++) b[i] = 2 * a[i] + 1;\n}\n",
    "data": "int f(int n, int base) {\n    int k = 0;\n    while (n > 0 && base > 1) { n /= base; k++; }\n"
    "    return k;\n}\n",
    "bits": "unsigned f(unsigned crc, unsigned char byte) {\n    crc ^= byte;\n"
    "    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));\n    return crc;\n}\n",
    "recursion": "long f(long n) {\n    long s = 0;\n    for (int i = 0; i < 3; i++) s += n > 0 ? f(n / 4) : 1;\n"
    "    return s;\n}\n",
    "called": "static __attribute__((noinline)) double g(double x) {\n    for (int i = 0; i < 20; i++) x = x / 3 - i;\n"
    "    return x;\n}\ndouble f(double x) {\n    for (int i = 0; i < 2; i++) x += g(x);\n    return x;\n}\n",
    "structure": "struct pair { double x, y; };\ndouble f(struct pair p) {\n    double s = 0;\n"
    "    for (int i = 0; i < 4; i++) s += p.x * i + p.y;\n    return s;\n}\n",
    "memory": "// ufunc: (n)->(n)\nvoid f(const int *a, int *b, int n) {\n"
    "    for (int i = 1; i < n; i++) b[i] = b[i - 1] + a[i];\n}\n",
    "static": "static int table[4] = {3, 1, 4, 1};\nint f(int x) {\n    int s = 0;\n"
    "    for (int i = 0; i < 4; i++) s += table[i] ^ x;\n    return s;\n}\n",
    "macro": "#define STEP(x) ((x) * 1103515245u + 12345u)\nunsigned f(unsigned x) {\n"
    "    for (int i = 0; i < 7; i++) x = STEP(x);\n    return x;\n}\n",
}


def _compile(source: str, folder: Path, options: Options) -> CompiledCell:
    folder.mkdir()
    return LANGUAGE.compile(source, options=options, name="In[3]", folder=folder)


def _read_alone(cell: CompiledCell, loops: set[int], folder: Path, options: Options) -> compilers.CompilerTexts | None:
    folder.mkdir()

    def write(more: tuple[str, ...]) -> Path | None:
        words = (*codegen.show_only(loops), *more)
        return LANGUAGE.write_assembly(cell.object_code, words, options=options, folder=folder, this_cpu=False)

    return compilers.read_loop_texts(folder, cplus=options.cplus, write_assembly=write)


def _read_whole(source: str, folder: Path, options: Options) -> compilers.CompilerTexts:
    def again(more: tuple[str, ...]) -> CompiledCell:
        return _compile(source, folder, replace(options, compile_args=(*options.compile_args, *more)))

    return compilers.read_compiler_texts(folder, cplus=options.cplus, compile_again=again)


@pytest.mark.slow
@pytest.mark.parametrize(("cplus", "new"), [(False, True), (True, False)])
@pytest.mark.parametrize("kind", CELLS)
def test_the_report_on_a_loop_alone_is_that_of_the_whole_cell(
    tmp_path: Path, kind: str, cplus: bool, new: bool
) -> None:
    options = make_options({"cplus": cplus})
    source = OTHER + CELLS[kind]
    cell = _compile(source, tmp_path / "first", options)
    if not new:  # as if it came from the cache
        _compile(f"int f{len(kind)}(int x) {{ return x; }}\n", tmp_path / "between", options)
    shown = {loop.index for f in cell.object_code.functions if f.name == "f" for loop in f.loops}
    texts = _read_alone(cell, shown, tmp_path / "alone", options)
    assert texts is not None
    whole = render.read_loops(cell, _read_whole(source, tmp_path / "whole", options))
    expected = tuple(report for report in whole if report.name == "f")
    if kind == "structure":  # computed one by one, whatever the compiler reports on the function by itself
        expected = tuple(replace(report, line=0, reason="") for report in expected)
    assert render.read_loops(cell, texts) == expected


def test_only_the_loops_that_are_shown_are_compiled(tmp_path: Path) -> None:
    options = make_options({})
    cell = _compile(OTHER + "double unused(double x) { return x; }\n" + CELLS["data"], tmp_path / "first", options)
    loops = {f.name: f.loops[0].index for f in cell.object_code.functions}
    texts = _read_alone(cell, {loops["f"]}, tmp_path / "alone", options)
    assert texts is not None
    functions = set(re.findall(r"(?m)^(\w+)[.\w]*:", texts.assembly))
    assert f"__ufm_kernel_{loops['f']}" in functions
    assert f"__ufm_kernel_{loops['other']}" not in functions
    if compilers.find().kind == "gcc":  # which drops what nothing calls
        assert not {"f", "other", "unused", f"__ufm_scalar_{loops['f']}"} & functions


#: Cells whose unit is not what their text alone gives.
SPECIAL = {
    "template": ("template <class T> T f(T x) { for (int i = 0; i < 3; i++) x += x; return x; }\n", True),
    "Microsoft": ("__forceinline int f(int x) { for (int i = 0; i < x; i++) x -= i; return x; }\n", False),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_takes_more_than_the_text_is_known_of_the_last_cell_alone(tmp_path: Path, kind: str) -> None:
    source, cplus = SPECIAL[kind]
    options = make_options({"cplus": cplus})
    cell = _compile(source, tmp_path / "first", options)
    shown = {loop.index for f in cell.object_code.functions for loop in f.loops}
    texts = _read_alone(cell, shown, tmp_path / "alone", options)
    assert texts is not None
    assert render.read_loops(cell, texts) == render.read_loops(cell, _read_whole(source, tmp_path / "whole", options))
    assert _read_alone(cell, shown, tmp_path / "later", options) is None
