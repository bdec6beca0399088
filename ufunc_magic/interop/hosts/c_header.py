"""What C and C++ programs need of us: the folder of our headers, and compiled functions as a library with a header."""

from __future__ import annotations

import pathlib
import re

from ...model import ObjectCode, SignatureError, TargetError
from ...runtime import Build
from . import elf_names, prototypes

__all__ = ["get_include", "write_header"]


def get_include() -> str:
    """The folder to give to a C++ compiler with ``-I`` for ``#include <ufunc_magic/embed.hpp>``."""
    return str(pathlib.Path(__file__).parents[2] / "include")


def write_header(build: Build, path: str | pathlib.Path, *, prefix: str = "") -> tuple[pathlib.Path, pathlib.Path]:
    """Write functions of a build for C and C++ programs, which then need no Python: a header and a library.

    ``write_header(b, "fast/curve.h")`` makes ``fast/curve.h`` and ``fast/libcurve.so``; the program is linked with
    ``cc main.c -Ifast -Lfast -lcurve -Wl,-rpath,$PWD/fast``.  The header says what it has: each function under its
    name for numbers, with ``_array`` for contiguous arrays where it works by element.  Functions of several types
    have NumPy's letters in their name (``twice_d``), in C++ the name alone too.  One whose type C has no words for
    (``std::string``) is only named.

    Parameters
    ----------
    build : Build
        Of C, C++, CUDA (its emulation) or Numba.
    path : str or path
        Of the header, in a folder that exists.
    prefix : str
        Put before every name, where one would be taken in the program (``gamma`` of ``<math.h>``).

    Returns
    -------
    tuple of pathlib.Path
        The header and the library.

    Raises
    ------
    TargetError
        For a build without code for the CPU, an extension module, or a system whose libraries are not ELF.
    SignatureError
        If nothing of it can be called from C, or the file's or a function's name is no C name.
    """
    header = pathlib.Path(path)
    _check(build.object_code, header.stem, prefix)
    object_code = build.object_code
    ours = [symbol for symbol in elf_names.exported(object_code.code) if symbol.startswith("__ufm_")]
    # Two libraries of one program would otherwise share the tables of the first.
    code, names = elf_names.renamed(object_code.code, ours, seed=header.stem + object_code.code_digest)
    text = prototypes.header_text(object_code, name=header.stem, tables=names, prefix=prefix)
    library = header.with_name(f"lib{header.stem}.so")
    # Beside and renamed: a program that runs has the old library mapped.
    fresh = library.with_name(f"{library.name}.new")
    fresh.write_bytes(code)
    fresh.replace(library)
    header.write_text(text, encoding="utf-8")
    return header, library


def _check(object_code: ObjectCode, stem: str, prefix: str) -> None:
    if object_code.module:
        raise TargetError(
            f"{object_code.name} is an extension module of Python, so a program without Python cannot link with it.",
            remedy="Write the functions in C, or embed Python with ufunc_magic/embed.hpp.",
        )
    if not object_code.code or object_code.preload or object_code.target.format != "elf":
        raise TargetError(
            f"{object_code.name} has no ELF library to write: it is for {object_code.target}.",
            remedy="Compile the source with the program, on Linux, or open the library by its documented tables.",
        )
    for word in (stem, f"{prefix}x"):
        if not re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII):
            raise SignatureError(f"{word!r} is no C name.", remedy="Use letters, digits and underscores.")
