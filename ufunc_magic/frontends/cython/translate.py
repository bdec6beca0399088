"""A Cython cell to C, by Cython's own pipeline in this process.

Nothing is guessed from the cell's text: names, types, exception clauses and specialisations are read from Cython's
symbol table after its analysis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from Cython.Compiler import Main, Options, Pipeline
from Cython.Compiler.ParseTreeTransforms import AnalyseExpressionsTransform
from Cython.Compiler.StringEncoding import EncodedString

from ...model import CompileError, Diagnostic
from . import cython_errors
from .cdef_variant import add_twins, note_returns
from .cell_text import Text
from .cython_run import Run
from .symbol_table import CyFunction, free_functions, functions

__all__ = ["Translated", "translate"]


@dataclass(frozen=True)
class Translated:
    """What Cython made of a cell.

    ``free`` are the C functions that Cython knows to be callable without the GIL; ``annotated`` is the path of
    the HTML page that it wrote, or None.
    """

    c: str
    functions: tuple[CyFunction, ...]
    free: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]
    annotated: Path | None


def translate(
    source: str,
    *,
    path: Path,
    module: str,
    name: str,
    cplus: bool = False,
    language_level: int = 3,
    folders: Sequence[str] = (),
    annotate: str = "",
) -> Translated:
    """Run Cython on the cell that was written to ``path``.

    Parameters
    ----------
    source : str
    path : Path
        A ``.pyx`` file in a private folder, where the C file is written too.
    module, name : str
        The extension module's name; what messages call the cell.
    folders : sequence of str
        Where .pxd, .pxi and header files are looked for.
    annotate : {"", "default", "fullc"}

    Raises
    ------
    CompileError
        With Cython's errors on the cell's lines.
    """
    wanted: dict[str, Any] = {}
    for _ in range(3):
        heard, run = _run(path, module, name, cplus, language_level, folders, annotate, wanted, Text(source))
        if heard.errors:
            raise _compile_error(heard, name=name, cell=source)
        missing = {k: t for k, t in run.returned.items() if run.twins.get(k) != t}
        if not missing:
            break
        # The guess was wrong, or there was none: now Cython has said what they return.
        wanted = dict(run.returned)
    diagnostics = cython_errors.warnings(heard.warnings, name=name, cell=source)
    page = path.with_suffix(".html")
    return Translated(
        c=run.c_file.read_text(encoding="utf-8"),
        functions=tuple(functions(run)),
        free=free_functions(run),
        diagnostics=diagnostics,
        annotated=page if annotate and page.exists() else None,
    )


def _compile_error(heard: cython_errors.Listening, *, name: str, cell: str) -> CompileError:
    # A twin repeats the complaints about its original.
    said = [c for n, c in enumerate(heard.errors) if c not in heard.errors[:n]]
    return cython_errors.compile_error(said, name=name, cell=cell)


# ------------------------------------------------------------------------------------- the pipeline


def _run(
    path: Path,
    module: str,
    name: str,
    cplus: bool,
    language_level: int,
    folders: Sequence[str],
    annotate: str,
    wanted: Mapping[str, Any],
    text: Text,
) -> tuple[cython_errors.Listening, Run]:
    c_file = path.with_suffix(".cpp" if cplus else ".c")
    options = Main.CompilationOptions(
        Options.default_options,
        language_level=language_level,
        output_file=str(c_file),
        include_path=list(folders),
        cplus=cplus,
        annotate=annotate or False,
    )
    options.configure_language_defaults("pyx")
    listening = cython_errors.Listening(path)
    desc = Main.FileSourceDescriptor(str(path), name)
    desc.file_path = name  # what tracebacks say
    with listening:
        context = Main.Context.from_options(options)
        source = Main.CompilationSource(desc, EncodedString(module), str(path.parent))
        result = Main.create_default_resultobj(source, options)
        run = Run(desc, context, c_file, wanted, text)
        Pipeline.run_pipeline(_stages(run, Pipeline.create_pyx_pipeline(context, options, result)), source)
    return listening, run


def _stages(run: Run, stages: Sequence[Any]) -> list[Any]:
    """The pipeline with three looks at the tree: after parsing, after the analysis, before C is written."""
    looking = [stages[0], lambda tree: add_twins(run, tree)]
    for stage in stages[1:-1]:
        looking.append(stage)
        if isinstance(stage, AnalyseExpressionsTransform):
            looking.append(lambda tree: note_returns(run, tree))

    def keep(tree: Any) -> Any:
        run.tree = tree
        for entry in tree.scope.cfunc_entries:
            if entry.pos is not None and entry.pos[0] is run.desc:
                entry.used = True  # or C has no specialisation of a fused function that nobody calls
        return tree

    return [*looking, keep, stages[-1]]
