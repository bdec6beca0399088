"""The command line: ``python -m ufunc_magic demo | doctor | verify | cache | inspect``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .model import Options, UfuncMagicError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        line = _make_parser().parse_args(words)
    except SystemExit as end:
        # argparse's own status, 2, is verify's for a source that does not compile.
        if end.code == 2 and words[:1] == ["verify"]:
            raise SystemExit(1) from None
        raise
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
            case "verify":
                return _verify(line)
            case "inspect":
                _inspect(line.file)
            case _:
                _run_cache(clear=line.clear, prune=line.prune)
    except UfuncMagicError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ufunc_magic", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="compile two C functions, check them against Python, print their table")
    commands.add_parser("doctor", help="show compilers, CPU, OpenMP, SIMD math, caches and packages")
    verify = commands.add_parser(
        "verify",
        help="compile a file, check and time its functions; status 0 right, 1 wrong, 2 does not compile, 3 crashes",
    )
    verify.add_argument("file", help="source in a language of the cells, by its suffix")
    verify.add_argument("functions", nargs="*", help="the functions that must be right; all if none is named")
    verify.add_argument("--ref", default="", metavar="EXPR", help="a Python function that returns the expected results")
    verify.add_argument("--data", default="", metavar="EXPR", help="expressions for the inputs")
    verify.add_argument(
        "--import", dest="modules", default="", metavar="NAMES", help="modules for EXPR: scipy.special,mine"
    )
    verify.add_argument("--time", default="1s", help="how long to check and time for (1s)")
    verify.add_argument("--json", action="store_true", help="print JSON")
    inspect = commands.add_parser("inspect", help="show what an object code file contains, without running any of it")
    inspect.add_argument("file", help="a file that contains the bytes from dumps()")
    cache = commands.add_parser("cache", help="show the cache of compiled code")
    what = cache.add_mutually_exclusive_group()
    what.add_argument("--clear", action="store_true", help="remove everything")
    what.add_argument(
        "--prune", metavar="SIZE", help="remove the least recently used code until SIZE is left: bytes, 500M, 2G"
    )
    return parser


def _verify(line: argparse.Namespace) -> int:
    from .api import verify
    from .model import OptionError, find_language_of_suffix

    suffix = Path(line.file).suffix
    language = find_language_of_suffix(suffix)
    if not language:
        raise OptionError(f"{line.file}: {suffix!r} is the suffix of no language.", remedy="Use .c, .cpp or .pyx.")
    sys.path.insert(0, "")
    try:
        names = {name.partition(".")[0]: __import__(name) for name in filter(None, line.modules.split(","))}
    except ImportError as error:
        raise OptionError(f"--import {line.modules}: {error}.", remedy="Name modules that Python finds.") from None
    source = _read(line.file, remedy="Name a file with source.").decode(errors="replace")
    verdict = verify(
        source,
        ref=line.ref,
        data=line.data,
        functions=line.functions,
        language=language,
        names=names,
        time=line.time,
        name=line.file,
    )
    print(verdict.to_json() if line.json else verdict)
    return verdict.exit_status


def _read(file: str, *, remedy: str) -> bytes:
    from .model import TargetError

    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise TargetError(f"{file} cannot be read: {error.strerror}.", remedy=remedy) from None


def _inspect(file: str) -> None:
    from .model import is_signed, unpack
    from .render import describe_contents

    data = _read(file, remedy="Name a file that contains the bytes from dumps().")
    object_code, entry = unpack(data)
    print(describe_contents(object_code, entry=entry, size=len(data), signed=is_signed(data)))


def _run_cache(*, clear: bool, prune: str | None) -> None:
    from .store import open_default, read_size

    cache = open_default()
    if clear:
        cache.clear()
    elif prune is not None:
        cache.prune(read_size(prune, name="--prune"))
    print(cache)


if __name__ == "__main__":
    sys.exit(main())
