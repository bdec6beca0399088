"""The command line: ``python -m ufunc_magic demo | doctor | cache | inspect``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .model import Options, UfuncMagicError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    line = _parser().parse_args(arguments)
    try:
        match line.command:
            case "demo":
                from . import codegen, pipeline

                source = codegen.template("demo.c")
                print(source)
                build = pipeline.build(source, language="c", options=Options(), name="demo")
                print(pipeline.report(build, options=Options()))
            case "doctor":
                from .api import doctor

                print(doctor())
            case "inspect":
                _inspect(line.file)
            case _:
                _cache(clear=line.clear, prune=line.prune)
    except UfuncMagicError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ufunc_magic", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="compile two C functions, check them against Python, print their table")
    commands.add_parser("doctor", help="show compilers, CPU, OpenMP, SIMD math, caches and packages")
    inspect = commands.add_parser("inspect", help="show what an object code file contains, without running any of it")
    inspect.add_argument("file", help="a file that contains the bytes from dumps()")
    cache = commands.add_parser("cache", help="show the cache of compiled code")
    what = cache.add_mutually_exclusive_group()
    what.add_argument("--clear", action="store_true", help="remove everything")
    what.add_argument(
        "--prune", metavar="SIZE", help="remove the least recently used code until SIZE is left: bytes, 500M, 2G"
    )
    return parser


def _inspect(file: str) -> None:
    from .model import TargetError, is_signed, unpack
    from .render import contents

    try:
        data = Path(file).read_bytes()
    except OSError as error:
        fault = f"{file} cannot be read: {error.strerror}."
        raise TargetError(fault, remedy="Name a file that contains the bytes from dumps().") from None
    object_code, entry = unpack(data)
    print(contents(object_code, entry=entry, size=len(data), signed=is_signed(data)))


def _cache(*, clear: bool, prune: str | None) -> None:
    from .store import default, read_size

    cache = default()
    if clear:
        cache.clear()
    elif prune is not None:
        cache.prune(read_size(prune, name="--prune"))
    print(cache)


if __name__ == "__main__":
    sys.exit(main())
