"""A cell that a C or C++ compiler reads: read through the preprocessor if needed, and compiled, as a unit or alone."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import codegen, compilers, shortcuts
from ..compilers import GENERATED
from ..model import (
    CellFunction,
    CompileError,
    Diagnostic,
    FilesRead,
    ObjectCode,
    Options,
    ParseError,
    SignatureError,
    Unit,
)
from . import native, ufunc_comment


def read_preprocessed(
    tool: compilers.Toolchain, source: str, *, name: str, flags: Sequence[str], before: str = ""
) -> str:
    """A cell after the text ``before`` as the preprocessor leaves it, with line markers.

    All of it: ``-fdirectives-only`` would keep macros, and what is needed here is what they make.
    """
    marked = f"{before}#line 1 {codegen.quote_c(name)}\n{source}\n"
    return compilers.preprocess(tool, marked, name=name, flags=flags, cell=source)


def read_types_in_comments(unit: Unit) -> str:
    """``types=f4,f8`` in a function's comment; it speaks for the cell, which is compiled as one."""
    for function in unit.functions:
        with contextlib.suppress(SignatureError):  # raised later, where it costs its own function alone
            if types := ufunc_comment.read(function.annotation, of=function.name).types:
                return types
    return ""


#: A text that mentions one of these may say something of its unit as a whole.
_OF_A_UNIT = re.compile(r"\b(__)?(asm|alias|(con|de)structor|ifunc|section|weakref)(__)?\b|\b__asm\b")
#: Comments and includes of the C and C++ libraries' headers, written as nearly all are, before anything else.
_INCLUDES = re.compile(r"(?:\s|//[^\n\\]*\n|/\*(?:[^*]|\*(?!/))*\*/|#include <\w+(?:\.h)?>[ \t]*\n)*")
#: Directives that mean something else in an included file.
_IN_THE_FIRST_FILE = re.compile(
    r"#\s*(?:pragma\s+(?:once|GCC\s+system_header)|include\s*[^\s<]|embed)|"
    r"__BASE_FILE__|__INCLUDE_LEVEL__|include_next|__has_include"
)


@dataclass(frozen=True)
class CellBuild:
    """A cell with all that compiling it takes.

    Attributes
    ----------
    tool : Toolchain
    source, name : str
    options : Options
    folder : Path
        For the files of this compilation.
    flags, link : tuple of str
        What the options mean, and once it is `planned` what the text adds to them.
    before : str
        The text before the cell in its unit that it needs to compile alone.
    this_cpu : bool
        It is compiled for CPUs like this one alone.
    """

    tool: compilers.Toolchain
    source: str = field(repr=False)
    name: str
    options: Options
    folder: Path
    flags: tuple[str, ...]
    link: tuple[str, ...]
    before: str = field(default="", repr=False)
    this_cpu: bool = False

    def plan(self, unit: Unit, *, words: Set[str] = frozenset(), floats: bool) -> tuple[native.UnitPlan, CellBuild]:
        """The additions of the text to the options (see `plan_unit`) and the cell with them; ``words`` count too."""
        description = compilers.describe(self.tool)
        plan = native.plan_unit(
            unit.identifiers | unit.calls | words | ({"errno"} if "<errno.h>" in unit.includes else set()),
            fenv="<fenv.h>" in unit.includes,
            own=frozenset(unit.names),
            floats=floats,
            options=self.options,
            description=description,
            tool=self.tool,
            truncates=codegen.find_conversions(unit, options=self.options).whole,
        )
        unsigned = dict.fromkeys(f.name for f in unit.functions if f.body.truncates == "unsigned" and not f.static)
        if unsigned and self.tool.kind == "gcc" and description.machine == "x86_64" and not self.options.fast_math:
            note = (
                "floating-point numbers become unsigned integers, so nothing is vectorized: convert to int if you can"
            )
            plan = replace(plan, notes=(*plan.notes, f"{', '.join(unsigned)}: {note}"))
        # Our own threads need no OpenMP; a cell may have pragmas of its own.
        pragmas = self.options.parallel and description.openmp and re.search(r"\bomp\b|_OPENMP", self.source)
        flags = (*self.flags, *plan.flags, *(("-fopenmp",) if pragmas else ()))
        return plan, replace(self, flags=flags, link=(*self.link, *plan.link))

    def list_arguments(self, output: str, *sources: Path) -> dict[str, Any]:
        """The arguments of `compilers.compile_shared` apart from the compiler and a unit's text."""
        return {
            "output": self.folder / output,
            "flags": self.flags,
            "link": self.link,
            "extra_sources": [*sources, *self.options.src],
            "origin": compilers.UnitOrigin(self.name, self.source),
            "run": shortcuts.run_programs,
        }

    def compile_in_parts(
        self, translation: codegen.Translation, library: Path, objects: Sequence[Path]
    ) -> tuple[Diagnostic, ...] | None:
        """Compile a unit on all processors, link it with ``objects``: warnings; None where it does not pay or fails.

        Whatever is wrong with the parts, the whole unit has the words for it, or is right.
        """
        o, parts = self.options, translation.parts
        # The user's options for a unit may concern all of it.
        whole = o.src or o.compile_args or _OF_A_UNIT.search(self.source)
        if not parts or self.tool.kind != "gcc" or whole or shortcuts.is_plain():
            return None
        unit = shortcuts.LargeUnit(translation.text, parts, len(translation.instances), self.flags)
        origin = compilers.UnitOrigin(self.name, self.source)
        with contextlib.suppress(CompileError):
            return shortcuts.compile_in_parts(self.tool, unit, origin, output=library, link=self.link, objects=objects)
        return None

    @property
    def ahead(self) -> tuple[str, ...] | None:
        """Lines with which the cell begins and that a compiler may have read before it; None where it must not.

        Headers of the system are the same wherever they are read first; files of the user's are not known to be.
        """
        if not self.this_cpu or self.options.compile_args or _IN_THE_FIRST_FILE.search(self.source):
            return None
        start = _INCLUDES.match(self.source)
        read_first = re.findall(r"(?s)/\*.*?\*/|//[^\n]*|(#include <\S*>)", start[0] if start else "")
        return tuple(filter(None, read_first))

    def list_files_read(self, provided: Sequence[str] = ()) -> FilesRead:
        """The files of the user that its compilations read; those in folders ``provided`` have a version."""
        return compilers.find_files_read(
            self.tool,
            self.source,
            folder=self.folder,
            flags=self.flags,
            sources=self.options.src,
            provided=provided,
        )

    def blame(self, fault: CompileError) -> CompileError:
        """The error of a unit; where only generated code is refused, what is wrong with the cell alone."""
        if any(d.severity == "error" and d.file != GENERATED for d in fault.diagnostics):
            return fault
        # An open brace of the cell shows first in what follows it.
        return self.find_fault_alone() or fault

    def find_fault_alone(self) -> CompileError | None:
        """The compiler's errors in the cell without loops around it."""
        types = codegen.choose_types(self.options.types)
        flags = [f for f in self.flags if f not in compilers.FAST_MATH]
        flags += ["-fsyntax-only", *(f"-DT={t.c}" for t in types[-1:])]
        alone = replace(self, flags=tuple(flags), link=(), options=replace(self.options, src=()))
        text = f"{self.before}#line 1 {codegen.quote_c(self.name)}\n{self.source}\n"
        try:
            compilers.compile_shared(self.tool, text, **alone.list_arguments("alone"))
        except CompileError as fault:
            return fault if any(d.severity == "error" and d.file == self.name for d in fault.diagnostics) else None
        return None

    def describe_nothing_to_bind(self, unit: Unit, reasons: Sequence[str] = ()) -> ParseError:
        """The error of a cell without a function that could be bound, for ``reasons`` if there are any."""
        if reasons:
            return ParseError(
                f"{self.name} has nothing to bind: {reasons[0]}.",
                remedy="Write a function of numbers or arrays that calls it.",
            )
        hidden = [f.name for f in unit.functions if f.name != "main" and f.file]
        if hidden:
            prefix, mark, _ = hidden[0].partition("_")
            shared = mark and all(name.startswith(f"{prefix}_") for name in hidden)
            patterns = [f"{prefix}_*"] if shared else hidden[:5]  # "*" would bind what system headers declare, too
            option = " ".join(f"--wrap '{pattern}'" if "*" in pattern else f"--wrap {pattern}" for pattern in patterns)
            keyword = repr(patterns[0] if len(patterns) == 1 else patterns)
            file = next(f.file for f in unit.functions if f.name == hidden[0])
            return ParseError(
                f"{self.name} has no function of its own, and every function of {file} is static "
                f"({', '.join(hidden[:5])}).",
                remedy=f"Bind them with {option} (wrap={keyword}).",
            )
        if unit.functions:
            return ParseError(
                f"{self.name} has no function but main.", remedy="Rename main to bind it, or add a function."
            )
        # Headers are not searched for functions unless they are asked for.
        more = f" To bind functions of {unit.includes[-1]}, name them: --wrap 'PATTERN*'." if unit.includes else ""
        return ParseError(
            f"{self.name} defines no readable C function.",
            remedy="Write a function with its types, for example: double f(double x) { return 2*x; }" + more,
        )

    def make_object_code(
        self, code: bytes, functions: Sequence[CellFunction], *, language: str, device: Mapping[str, Any] | None = None
    ) -> ObjectCode:
        """The object code that the compiler wrote."""
        return ObjectCode(
            code=code,
            target=native.target(code, self.options, this_cpu=self.this_cpu),
            functions=tuple(f.function_code for f in functions),
            language=language,
            toolchain=compilers.describe(self.tool).version,
            source=self.source,
            name=self.name,
            threads=bool(self.options.parallel),
            device=device or {},
        )

    @property
    def command(self) -> str:
        """The compiler's line, for the report."""
        return shlex.join([*self.tool.command, *self.flags, "-", *self.options.src, *self.link])
