"""Tab completion on the magics' lines and inside cells.

A line completes options and their values; a cell its own words, the language's, and the names that headers and
cimported modules declare.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult

from ..model import LANGUAGES
from .option_line import CACHE, COMPARE, CONFIG, SAVE, complete, list_options

_LINE = re.compile(r"\s*%%?(?P<magic>\w+)(?P<rest>\s.*)$", re.DOTALL)
_TABLES = {
    **{entry.magic.removeprefix("%%"): list_options(language) for language, entry in LANGUAGES.items()},
    "ufunc_config": CONFIG,
    "ufunc_cache": CACHE,
    "ufunc_compare": COMPARE,
    "ufunc_save": SAVE,
}


def complete_line(context: CompletionContext) -> SimpleMatcherResult:
    """Matcher of IPython's API version 2 (8.6 and later).

    ``complete_command`` hooks do not work: Jedi's Python names would be added to their answers, and the splitter cuts
    ``--parallel=2`` at the ``=``.
    """
    line = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
    match = _LINE.match(line)
    if match is None or match["magic"] not in _TABLES:
        return {"completions": []}
    fragment, words = complete(match["rest"], _TABLES[match["magic"]])
    return {
        "completions": [SimpleCompletion(word, type="option") for word in words],
        "matched_fragment": fragment,
        "ordered": True,
        # -I, -L and -S take file names: without a word of ours, other matchers may answer.
        "suppress": bool(words),
    }


complete_line.matcher_api_version = 2  # type: ignore[attr-defined]
complete_line.matcher_identifier = "ufunc_magic.options"  # type: ignore[attr-defined]
complete_line.matcher_priority = 100  # type: ignore[attr-defined]


def install(shell: Any) -> None:
    """Add the matchers to ``shell``'s completer, once."""
    matchers = shell.Completer.custom_matchers
    matchers += [own for own in (complete_line, complete_cell) if own not in matchers]


def remove(shell: Any) -> None:
    """Remove the matchers."""
    for own in (complete_line, complete_cell):
        if own in shell.Completer.custom_matchers:
            shell.Completer.custom_matchers.remove(own)


# -- inside cells

_OF_MAGIC = {entry.magic.removeprefix("%%"): language for language, entry in LANGUAGES.items()}
_MAGIC = re.compile(rf"\s*%%({'|'.join(_OF_MAGIC)})\b(.*)")
#: Comments and strings, which contain no names.
_NO_NAMES = {
    "cython": re.compile(r"#[^\n]*|\"[^\"\n]*\"|'[^'\n]*'"),
    "c": re.compile(r"//[^\n]*|/\*(?s:.*?)\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"),
}
_SYSTEM = ("/usr/local/include", "/usr/include")
_CIMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?cimport[ \t]+([^#\n]*)", re.MULTILINE)
#: Patterns of declarations, with the name.
_DECLARED = {
    "c": (r"\b([A-Za-z]\w*)\s*\(", r"^\s*#\s*define\s+([A-Za-z]\w*)", r"\b([A-Za-z]\w*)\s*;"),
    "cython": (r"\b([A-Za-z]\w*)\s*\(", r"\b([A-Za-z]\w*)\s*$", r"\b(?:class|cppclass|struct)\s+(\w+)"),
}


def complete_cell(context: CompletionContext) -> SimpleMatcherResult:
    """Matcher of IPython's API version 2, for the lines below a magic.

    In C there are no other answers, because Jedi would read the cell as Python; in Cython they are added to Python's.
    """
    lines = context.full_text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    magic = _MAGIC.match(lines[first])
    if magic is None or context.cursor_line <= first:
        return {"completions": []}
    from ..languages import get_language as language_named  # not before the first Tab in such a cell

    key = _OF_MAGIC[magic[1]]
    language = language_named(key)
    before = lines[context.cursor_line][: context.cursor_position]
    typed = re.search(r"[A-Za-z_]\w*$", before)
    begun, fragment = (before[: typed.start()], typed[0]) if typed else (before, "")
    in_c = key != "cython"
    rest = lines[context.cursor_line][context.cursor_position :]
    above, below = lines[first + 1 : context.cursor_line], lines[context.cursor_line + 1 :]
    text = "\n".join([*above, f"{begun} {rest}", *below])
    words = [] if in_c else _list_cimported(text, begun)
    if fragment and (in_c or not begun.endswith(".")):
        own = re.findall(r"[A-Za-z_]\w*", _NO_NAMES["c" if in_c else key].sub(" ", text))
        words += [*own, *language.words.split()]
    if in_c and fragment:
        from ..compilers import list_declared  # not before the first Tab

        folders = re.findall(r"(?:-I|--include)[ =]?(\S+)", magic[2])
        included = re.findall(r"^\s*#\s*include\s*[<\"]([^>\"\n]+)", text, re.MULTILINE)
        for name in (*included, *language.headers):
            words += (*list_declared(name), *_list_declared([name], (".", *folders, *_SYSTEM)))
    offered = sorted({word for word in words if word.startswith(fragment) and word != fragment})
    return {
        "completions": [SimpleCompletion(word, type="name") for word in offered],
        "matched_fragment": fragment,
        "suppress": in_c,
    }


complete_cell.matcher_api_version = 2  # type: ignore[attr-defined]
complete_cell.matcher_identifier = "ufunc_magic.names"  # type: ignore[attr-defined]
complete_cell.matcher_priority = 100  # type: ignore[attr-defined]


def _list_cimported(text: str, begun: str) -> list[str]:
    """Names that modules declare: the module before a dot, the one that this line cimports from, or ``cimport *``."""
    modules, names = {}, list[str]()
    for package, parts in _CIMPORT.findall(text):
        for words in filter(None, map(str.split, parts.strip("() ").split(","))):
            modules[words[-1]] = f"{package}.{words[0]}".strip(".")
        if parts.strip() == "*":
            names += _list_module(package)
    if owner := re.search(r"([\w.]+)\.$", begun):
        return [*_list_module(modules[owner[1]])] if owner[1] in modules else []
    here = _CIMPORT.match(begun)
    return [*names, *_list_module(here[1])] if here and here[1] else names


def _list_module(module: str) -> tuple[str, ...]:
    """Names in a ``.pxd``: of Cython's own, of an installed package, or in this folder."""
    specs = map(PathFinder.find_spec, ("Cython", module.partition(".")[0]))
    cython, package = [[*(spec.submodule_search_locations or ())] if spec else [] for spec in specs]
    folders = (".", *(f"{folder}/Includes" for folder in cython), *(str(Path(folder).parent) for folder in package))
    path = module.strip(".").replace(".", "/")
    names = (path, f"{path}/__init__")
    # As Cython 3 looks for them: since NumPy 2.5 the plain one is for older versions.
    return _list_declared([f"{name}{ending}" for ending in (".cython-30.pxd", ".pxd") for name in names], folders)


def _list_declared(files: Iterable[str], folders: Iterable[str]) -> tuple[str, ...]:
    for path in (Path(folder).expanduser() / file for folder in folders for file in files):
        try:
            return _read_names(path, path.stat().st_mtime_ns)
        except OSError:
            continue
    return ()


@functools.lru_cache(maxsize=64)
def _read_names(path: Path, changed: int) -> tuple[str, ...]:
    """Functions, macros and types that the text of a file of this time declares."""
    language = "cython" if path.suffix == ".pxd" else "c"
    text = _NO_NAMES[language].sub(" ", path.read_text(encoding="utf-8", errors="replace"))
    names = (name for pattern in _DECLARED[language] for name in re.findall(pattern, text, re.MULTILINE))
    return tuple(dict.fromkeys(names))
