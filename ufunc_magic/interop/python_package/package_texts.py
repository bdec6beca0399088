"""The texts of a module that is saved: its loader, its ``pyproject.toml``, its README.  Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

#: Text in the loader's first lines, which marks an edited one as ours.
_OPENING = "Written by %ufunc_save of ufunc_magic, which replaces this file: write your own code into others."

#: It is one small package that needs no other; its module's files are the wheel's, whatever they are.
_BUILD_SYSTEM = '[build-system]\nrequires = ["flit_core>=3.8,<5"]\nbuild-backend = "flit_core.buildapi"\n'


@dataclass(frozen=True)
class ModuleCell:
    """One cell of a module.

    Attributes
    ----------
    source, code : str
        The files in the package; ``code`` is ``""`` where there is no machine code.
    compiler : str
        Function that compiles the source: ``"compile_c"``.
    options : mapping
        Its keywords; paths in the package are `PurePosixPath`.
    names : mapping
        Name in the module -> name in the cell.
    title : str
        ``"C"``, ``"C++"``, ``"Cython"``.
    target : str
        Target of the machine code.
    """

    source: str
    code: str
    compiler: str
    options: Mapping[str, Any]
    names: Mapping[str, str]
    title: str
    target: str


def write_loader(cells: Sequence[ModuleCell]) -> str:
    """``__init__.py``: each cell's machine code opened or its source compiled, and the names bound."""
    names = [name for cell in cells for name in cell.names]
    with_code = any(cell.code for cell in cells)
    word = "_cell"
    while any(name.startswith(word) for name in names):  # a function that is bound would replace its cell
        word += "_"
    variables = [word] if len(cells) == 1 else [f"{word}{n}" for n in range(1, len(cells) + 1)]
    return "\n".join(
        [
            f'"""{write_description(cells)}.',
            "",
            _OPENING,
            '"""',
            "",
            "from importlib.resources import files",
            "",
            "import ufunc_magic as um",
            "",
            "_folder = files(__name__)",
            "",
            "",
            *(_LOADS if with_code else _COMPILES),
            "",
            "",
            *(f"{variable} = {_load(cell)}" for variable, cell in zip(variables, cells, strict=True)),
            "",
            *_list_words("__all__ = [", [f"{json.dumps(name)}," for name in sorted(names)], "]"),
            *(
                f'{name} = {variable}["{own}"]'
                for variable, cell in zip(variables, cells, strict=True)
                for name, own in cell.names.items()
            ),
            "",
        ]
    )


_LOADS = """
def _load(code, compile_source, source, **options):
    try:
        return um.loads((_folder / code).read_bytes())
    except (um.TargetError, um.LinkError) as refusal:  # it is for another machine: compile the source for this one
        try:
            return compile_source((_folder / source).read_text(encoding="utf-8"), **options)
        except um.UfuncMagicError as fault:
            reason = f"{__name__}: {refusal}\\nThe source cannot be compiled here: {fault}"
            raise ImportError(reason, name=__name__) from fault
""".strip().splitlines()

_COMPILES = """
def _load(compile_source, source, **options):
    try:
        return compile_source((_folder / source).read_text(encoding="utf-8"), **options)
    except um.UfuncMagicError as fault:
        raise ImportError(f"{__name__} cannot be compiled here: {fault}", name=__name__) from fault
""".strip().splitlines()


def _load(cell: ModuleCell) -> str:
    words = [*([json.dumps(cell.code)] if cell.code else []), f"um.{cell.compiler}", json.dumps(cell.source)]
    words += [f"{name}={_write_value(value)}" for name, value in cell.options.items()]
    return "\n".join(_list_words("_load(", [f"{word}," for word in words], ")"))


def _write_value(value: Any) -> str:
    if isinstance(value, PurePosixPath):
        return f"_folder / {json.dumps(str(value))}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _list_words(start: str, words: Sequence[str], end: str) -> Iterator[str]:
    """On one line where it fits, else one line for each word."""
    line = f"{start}{' '.join(words).rstrip(',')}{end}"
    if len(line) <= 100:
        yield line
    else:
        yield start
        yield from (f"    {word}" for word in words)
        yield end


def write_description(cells: Sequence[ModuleCell]) -> str:
    """``logit, expit: functions of a C cell``, short enough for a summary."""
    names = [name for cell in cells for name in cell.names]
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    *others, last = dict.fromkeys(cell.title for cell in cells)
    titles = f"{', '.join(others)} and {last}" if others else last
    number = "a cell" if len(cells) == 1 else f"{len(cells)} cells"
    return f"{shown}: {'functions' if len(names) > 1 else 'function'} of {number} of {titles}"


def write_pyproject(name: str, cells: Sequence[ModuleCell], *, version: str, dependencies: Sequence[str]) -> str:
    """``pyproject.toml``."""
    lines = [
        _BUILD_SYSTEM,
        "[project]",
        f"name = {json.dumps(name)}",
        'version = "0.1.0"',
        f"description = {json.dumps(write_description(cells), ensure_ascii=False)}",
        'readme = "README.md"',
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps([f'ufunc_magic>={version}', *dependencies])}",
        "",
        "# What compiles the source where the machine code does not fit and there is no compiler.",
        "[project.optional-dependencies]",
        f"compile = {json.dumps([f'ufunc_magic[{_write_extras(cells)}]'])}",
        "",
    ]
    return "\n".join(lines)


def _write_extras(cells: Sequence[ModuleCell]) -> str:
    return "zig,cython" if any(cell.title == "Cython" for cell in cells) else "zig"


def write_readme(name: str, cells: Sequence[ModuleCell], calls: Sequence[str]) -> str:
    """``README.md``; ``calls`` are the functions as one calls them: ``"logit(p)"``."""
    targets = dict.fromkeys(cell.target for cell in cells if cell.code)
    needs = "a C compiler and Cython" if "cython" in _write_extras(cells) else "a C or C++ compiler"
    parts = [
        f"# {name}",
        f"{write_description(cells)}, saved by `%ufunc_save` of ufunc_magic.",
        f"```sh\npip install ./{name}\n```",
        "```python\n" + "\n".join([f"import {name}", "", *(f"{name}.{call}" for call in calls)]) + "\n```",
    ]
    compiled = f"which needs {needs} once: `pip install './{name}[compile]'` brings one."
    if targets:
        parts.append(
            f"It needs ufunc_magic. The package has machine code for {', '.join(targets)}, where nothing is "
            "compiled. "
            f"Elsewhere the first import compiles the source, {compiled}"
        )
    else:
        parts.append(f"It needs ufunc_magic. The first import compiles the source, {compiled}")
    if libraries := list(dict.fromkeys(word for cell in cells for word in cell.options.get("lib", ()))):
        parts.append(f"The system's libraries that it links with have to be installed: {', '.join(libraries)}.")
    return "\n\n".join(parts) + "\n"
