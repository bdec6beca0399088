"""A Cython cell to C, by Cython's own pipeline in this process.

Nothing is guessed from the cell's text: names, types, exception clauses and specialisations are read from Cython's
symbol table after its analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...ir import MATH_FUNCTIONS, Effects, FunctionIR, Program, find_effects, from_number, list_c_names
from ...model import TYPES, Comfort, Diagnostic
from . import cython_errors
from ._private import (
    AnalyseExpressionsTransform,
    EncodedString,
    ExpandInplaceOperators,
    Main,
    Options,
    Pipeline,
    PyrexTypes,
)
from .cdef_variant import PREFIX, Analysis, Variants, find_defs, find_plain_name, is_number
from .cython_ctypes import find_ir_type
from .cython_entries import Entering
from .cython_function import CellText, CyFunction, CyParameter, CythonType, find_function_at
from .cython_lowering import lower
from .cython_rewrites import Rewriting
from .cython_search import SearchContext, Searches
from .traceback_lines import add_place


@dataclass(frozen=True)
class Translated:
    """The result of translating a cell.

    ``free`` are the C functions that Cython knows to be callable without the GIL; ``annotated`` is the path of
    the HTML page that it wrote, or None.  ``program`` is the cell as the IR, None where that failed, for the reason in
    ``notes``.  ``plain``: its module level has functions, declarations, imports and constants, and nothing else.
    """

    c: str
    functions: tuple[CyFunction, ...]
    free: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]
    annotated: Path | None
    program: Program | None = None
    notes: tuple[str, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class CythonOptions:
    """Options of Cython's own.

    ``annotate``: with the page of which lines call Python.  ``linenums``: with ``#line`` directives, for debug
    information.
    """

    cplus: bool = False
    language_level: int = 3
    annotate: bool = False
    linenums: bool = False


def translate(
    source: str,
    *,
    path: Path,
    module: str,
    name: str,
    searches: Searches,
    options: CythonOptions | None = None,
    without: frozenset[str] = frozenset(),
) -> Translated:
    """Run Cython on the cell that was written to ``path``.

    Parameters
    ----------
    source, path : str, Path
        The cell, and its ``.pyx`` file in a private folder, where the C file is written too.
    module, name : str
        The extension module's name; the cell's name in messages.
    searches : Searches
        Has the folders that Cython searches, and gets the files that it reads.
    options : CythonOptions
    without : frozenset of str
        ``def`` functions that are to have no loop.

    Raises
    ------
    CompileError
        With Cython's errors on the cell's lines.
    """
    options = options or CythonOptions()
    c_file = path.with_suffix(".cpp" if options.cplus else ".c")
    text = CellText(source)

    def attempt(without: frozenset[str]) -> tuple[_Run, cython_errors.Listening]:
        cython_options = Main.CompilationOptions(
            Options.default_options,
            language_level=options.language_level,
            output_file=str(c_file),
            include_path=list(searches.folders),
            cplus=options.cplus,
            annotate="default" if options.annotate else False,
            emit_linenums=options.linenums,
        )
        cython_options.configure_language_defaults("pyx")
        desc = Main.FileSourceDescriptor(str(path), name)
        desc.file_path = name  # the file name in tracebacks
        with cython_errors.Listening(path) as listening:
            context = SearchContext.from_options(cython_options)
            context.searches = searches
            compilation = Main.CompilationSource(desc, EncodedString(module), str(path.parent))
            result = Main.create_default_resultobj(compilation, cython_options)
            run = _Run(desc, context, Variants(text, without))
            stages = Pipeline.create_pyx_pipeline(context, cython_options, result)
            Pipeline.run_pipeline(run.list_stages(stages), compilation)
        return run, listening

    run, listening = attempt(without)
    if listening.errors and (tried := run.variants.tried):
        # If the cell is right without variants, those with errors in their lines are at fault, or else all.
        faults = {find_function_at(error.line, run.variants.lines) for error in listening.errors}
        run, listening = attempt(without | tried)
        if not listening.errors and faults < tried:
            run, listening = attempt(without | faults)
            if listening.errors:
                run, listening = attempt(without | tried)
    if listening.errors:
        raise cython_errors.compile_error(listening.errors, name=name, cell=source)
    page = path.with_suffix(".html")
    return Translated(
        c=add_place(c_file.read_text(encoding="utf-8"), name=name),
        functions=tuple(_read_functions(run)),
        free=_find_free_functions(run),
        diagnostics=cython_errors.read_warnings(listening.warnings, name=name, cell=source),
        annotated=page if options.annotate and page.exists() else None,
        program=run.program,
        notes=tuple(run.notes),
        plain=run.variants.plain,
    )


@dataclass(eq=False)
class _Run:
    """One run of Cython's pipeline: the cell's descriptor, Cython's context, the tree once it is analysed."""

    desc: Any
    context: Any
    variants: Variants
    tree: Any = field(default=None)
    definitions: dict[str, Any] = field(default_factory=dict)
    program: Program | None = None
    #: By C name; empty where the cell could not be lowered.
    lowered: dict[str, tuple[FunctionIR, Effects]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def list_stages(self, stages: Sequence[Any]) -> list[Callable[[Any], Any]]:
        """The pipeline with variants after the parser, an analysis that knows them, and looks at the tree."""
        looking = [stages[0], self.variants.add]
        for stage in stages[1:-1]:
            if isinstance(stage, AnalyseExpressionsTransform):
                looking += [Analysis(self.context, self.variants), self._define]
            elif isinstance(stage, ExpandInplaceOperators):
                looking += [stage, self._lower]
            else:
                looking.append(stage)
        return [*looking, self._rewrite, self._use_all, stages[-1]]

    def _define(self, tree: Any) -> Any:
        self.definitions = find_defs(tree)
        return tree

    def _lower(self, tree: Any) -> Any:
        """Lower the tree before Cython rewrites its loops and calls."""
        with Comfort("the cell's IR", self.notes):
            self.program, bodies = lower(tree, source=self.variants.text.source, desc=self.desc, notes=self.notes)
            functions = list(bodies.values())
            effects = find_effects(functions)
            self.lowered = dict(zip(bodies, zip(functions, effects, strict=True), strict=True))
        return tree

    def _rewrite(self, tree: Any) -> Any:
        with Comfort("the faster form of conditions and powers", self.notes):
            Rewriting()(tree)
        with Comfort("that faults of the cell's code are contained", self.notes):
            Entering(self.desc)(tree)
        return tree

    def _use_all(self, tree: Any) -> Any:
        self.tree = tree
        for entry in tree.scope.cfunc_entries:
            if entry.pos is not None and entry.pos[0] is self.desc:
                entry.used = True  # or C has no specialisation of a fused function that nobody calls
        return tree


# -------------------------------------------------------------------------------- Cython's symbol table


def _read_type(kind: Any) -> CythonType:
    shown = str(kind)
    const = bool(getattr(kind, "is_const", False))
    if getattr(kind, "is_cv_qualified", False):
        kind = kind.cv_base_type
    if kind.is_void:
        return CythonType("void", shown=shown)
    if kind.is_pyobject:
        if getattr(kind, "is_buffer", False) and kind.dtype.is_numeric:
            element = _read_type(kind.dtype)
            return CythonType(
                "object", element.c, ndim=kind.ndim, shown=f"numpy.ndarray of {kind.dtype}", number=element.number
            )
        return CythonType("object", shown="numpy.ndarray" if "ndarray" in shown else shown)
    if kind.is_memoryviewslice:
        element = _read_type(kind.dtype)
        direct = all(access == "direct" for access, _ in kind.axes)
        if element.kind != "number" or not direct:
            return CythonType("other", shown=shown)
        return CythonType("array", element.c, element.const, len(kind.axes), shown=shown, number=element.number)
    if kind.is_ptr and not kind.base_type.is_cfunction:
        element = _read_type(kind.base_type)
        if element.kind != "number" or kind.base_type is PyrexTypes.c_char_type:
            return CythonType("other", shown=shown)
        return CythonType("pointer", element.c, element.const, shown=shown, number=element.number)
    if getattr(kind, "is_ctuple", False):
        fields = tuple(_read_type(component) for component in kind.components)
        return CythonType("tuple" if all(f.kind == "number" for f in fields) else "other", fields=fields, shown=shown)
    if is_number(kind) and not kind.is_fused:
        c = "bint" if kind is PyrexTypes.c_bint_type else kind.empty_declaration_code()
        return CythonType("number", c, const, shown=shown, number=_read_number(kind))
    return CythonType("other", shown=shown)


#: The IR's types of numbers -> NumPy's type numbers.
_NUMBERS = {from_number(number): number for number in reversed(TYPES)}


def _read_number(kind: Any) -> int:
    """NumPy's type number of a type."""
    return _NUMBERS.get(find_ir_type(kind), 12 if kind.is_float else 9)


def _read_functions(run: _Run) -> list[CyFunction]:
    """The functions of the cell, from Cython's symbol table."""
    c_functions: dict[str, CyFunction] = {}  # by C name
    for entry in run.tree.scope.cfunc_entries:
        if entry.pos is None or entry.pos[0] is not run.desc or entry.visibility == "extern":
            continue
        if entry.type.is_cfunction and entry.func_cname and not entry.type.is_fused:
            c_functions.setdefault(entry.func_cname, _read_c_function(entry, run))
    variants: dict[str, list[CyFunction]] = {}  # several of a fused function
    for function in c_functions.values():
        if function.name.startswith(PREFIX):
            variants.setdefault(function.name.removeprefix(PREFIX), []).append(function)
    functions = [_drop_defaults(f, variants) for f in c_functions.values() if not f.name.startswith(PREFIX)]
    known = {function.name for function in functions}
    for name, node in run.definitions.items():
        if name not in known and node.pos[0] is run.desc:
            functions += _read_defs(node, variants.get(name, ()), doc=run.variants.docs.get(name, ""))
    return sorted(functions, key=lambda f: f.line)


def _drop_defaults(function: CyFunction, variants: Mapping[str, Sequence[CyFunction]]) -> CyFunction:
    """A ``cpdef`` with default values as its variant, which has none."""
    for variant in variants.get(function.name, ()) if function.kind == "cpdef" else ():
        if variant.fused == function.fused:
            return replace(variant, name=function.name, kind="cpdef", line=function.line, doc=function.doc)
    return function


def _read_c_function(entry: Any, run: _Run) -> CyFunction:
    kind, name = entry.type, find_plain_name(entry)
    optional = len(kind.args) - kind.optional_arg_count
    parameters = [
        CyParameter(str(arg.name or f"x{n}"), _read_type(arg.type), n >= optional) for n, arg in enumerate(kind.args)
    ]
    value = kind.exception_value
    body, effects = run.lowered.get(str(entry.func_cname), (None, None))
    return CyFunction(
        name=name,
        kind="cpdef" if kind.is_overridable else "cdef",
        line=entry.pos[1],
        cname=entry.func_cname,
        parameters=tuple(parameters),
        returns=_read_type(kind.return_type),
        skip_dispatch=bool(kind.is_overridable),
        value="" if value is None else str(value),
        raises=_may_raise(kind),
        nogil=bool(kind.nogil),
        varargs=bool(kind.has_varargs),
        fused=_read_specialization(run.tree.scope.entries.get(name), kind),
        doc=run.variants.docs.get(name, ""),
        body=body,
        effects=effects,
    )


def _may_raise(kind: Any) -> bool:
    return bool(kind.exception_check) or kind.exception_value is not None


def _read_specialization(general: Any, specific: Any) -> dict[str, str]:
    """The type chosen for each fused one in one specialisation of a function: ``{"number": "double"}``."""
    kind = getattr(general, "type", None)
    if kind is None or not kind.is_fused or not kind.is_cfunction or len(kind.args) != len(specific.args):
        return {}
    pairs = [(one.type, other.type) for one, other in zip(kind.args, specific.args, strict=True) if one.type.is_fused]
    named = ((_find_element(one), _find_element(other)) for one, other in pairs)
    # A pointer to a function has no name.
    return {str(one.name): str(other) for one, other in named if hasattr(one, "name")}


def _find_element(kind: Any) -> Any:
    """The element type of a memoryview or a pointer, and the unqualified type of another."""
    for name in ("dtype", "base_type", "cv_base_type"):
        kind = getattr(kind, name, kind)
    return kind


def _read_defs(node: Any, variants: Sequence[CyFunction], *, doc: str) -> list[CyFunction]:
    """A ``def`` with the types of its variants, one for each choice of a fused type."""
    fused = CythonType("other", shown="fused type")
    types = [fused if a.type.is_fused else _read_type(a.type) for a in node.args]
    function = CyFunction(
        name=str(node.name),
        kind="def",
        line=node.pos[1],
        cname="",
        parameters=tuple(CyParameter(str(a.name), t, bool(a.default)) for a, t in zip(node.args, types, strict=True)),
        returns=CythonType("object", shown="object"),
        varargs=bool(node.star_arg or node.starstar_arg or any(a.kw_only for a in node.args)),
        doc=doc,
    )
    specialised = getattr(node.entry, "fused_cfunction", None)
    # All or none: an array may be meant for a type that has no loop, an object or a memoryview.
    if specialised is not None and len(variants) < len(specialised.nodes):
        return [function]
    known = (
        replace(
            function,
            cname=variant.cname,
            parameters=variant.parameters,
            returns=variant.returns,
            varargs=False,
            fused=variant.fused,
            body=variant.body,
            effects=variant.effects,
        )
        for variant in variants
    )
    return list(known) or [function]


def _find_free_functions(run: _Run) -> frozenset[str]:
    """C names of everything that was declared nogil and does not raise, in the cell and in what it cimports.

    And of the functions of libm that Cython itself calls, unless the cell declares functions of these names.
    """
    names: set[str] = set()
    declared: set[str] = set()
    visited, waiting = set(), [run.tree.scope, *run.context.modules.values()]
    while waiting:
        scope = waiting.pop()
        if id(scope) in visited or not hasattr(scope, "entries"):
            continue
        visited.add(id(scope))
        # Specialisations of fused functions are in the second list only.
        for entry in [*scope.entries.values(), *getattr(scope, "cfunc_entries", ())]:
            waiting.extend(filter(None, (entry.scope, entry.as_module, getattr(entry.type, "scope", None))))
            for one in (entry, *entry.overloaded_alternatives):
                if one.type.is_cfunction:
                    known = {str(one.func_cname or ""), str(one.cname)}
                    if one.type.nogil and not _may_raise(one.type):
                        names |= known
                    elif scope is run.tree.scope:
                        declared |= known
    libm = {name for row in MATH_FUNCTIONS.values() if row.header for name in list_c_names(row)}
    return frozenset((names | (libm - declared)) - {""})
