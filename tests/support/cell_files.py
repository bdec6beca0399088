"""The files of ``tests/cells``: a header of comments with options, types and expectations, then the cell."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ufunc_magic.model import make_options
from ufunc_magic.pipeline import Build, build

#: The repository that the tests are part of; the package that is tested may be installed elsewhere (`CHECKOUT`).
REPOSITORY = Path(__file__).parents[2]
#: The folder with a folder for each kind of cell.
CELLS = REPOSITORY / "tests" / "cells"
#: The languages of the files.
LANGUAGES = {".c": "c", ".cpp": "c", ".pyx": "cython", ".cu": "cuda"}


def read_header(text: str) -> dict[str, list[str]]:
    """The lines of a cell's header by their first word."""
    header: dict[str, list[str]] = {}
    for line in text.lstrip("\ufeff").splitlines():
        entry = re.match(r"(?://|#) (options|types|given|expect|warns): (.*)", line)
        if not entry and line.startswith(("# ", "// ")):
            continue  # another comment, such as "# distutils: ..."
        if not entry:
            break
        header.setdefault(entry[1], []).append(entry[2])
    return header


def compile_file(path: Path) -> tuple[Build, dict[str, list[str]]]:
    """Compile a file with the options of its header, and return the header, too."""
    text = path.read_bytes().decode()
    header = read_header(text)
    options = dict(eval(f"dict({','.join(header.get('options', []))})"))
    options.setdefault("cplus", path.suffix == ".cpp")
    if path.suffix == ".pyx":
        pytest.importorskip("Cython", reason="Cython is not installed")
    return build(text, language=LANGUAGES[path.suffix], options=make_options(options), name="In[3]"), header


def check_expectation(expectation: str, names: dict[str, Any]) -> None:
    """Check ``expression == value exactly``, ``... within 1e-12`` or ``... within 1e-12 or 1e-300``."""
    parts = re.fullmatch(r"(.*) == (.*?) (?:exactly|within (\S+)(?: or (\S+))?)", expectation)
    assert parts, f"not understood: {expectation}"
    actual, expected = (eval(text, names) for text in (parts[1], parts[2]))
    if parts[3]:
        np.testing.assert_allclose(actual, expected, rtol=float(parts[3]), atol=float(parts[4] or 0), strict=False)
    else:
        np.testing.assert_equal(actual, expected)


def catch_message(kind: type[BaseException], call: Callable[[], object]) -> str:
    """The message of the exception that a call raises."""
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def list_loops(ufunc: np.ufunc) -> list[str]:
    """The core signature of a ufunc, if it has one, and the types of its loops."""
    return [*([ufunc.signature] if ufunc.signature else []), *ufunc.types]
