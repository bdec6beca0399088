"""A Cython cell to C, by Cython's own pipeline in this process, and what its functions are to C.

Nothing is guessed from the cell's text: names, types, exception clauses and specialisations are read from
Cython's symbol table after its analysis.  A ``def`` function whose parameters are C numbers is given a
``cdef`` twin under another name, so that its loop need not make Python objects; which type it returns is
what Cython found the ``return`` statements of the original to have.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from Cython.Compiler import ExprNodes, Main, Nodes, Options, Pipeline, PyrexTypes
from Cython.Compiler.ParseTreeTransforms import AnalyseExpressionsTransform
from Cython.Compiler.StringEncoding import EncodedString
from Cython.Compiler.Visitor import TreeVisitor

from ...errors import CompileError, Diagnostic
from . import faults
from .cell import Text
from .returns import guess

__all__ = ["TWIN", "CType", "CyFunction", "CyParameter", "Translated", "translate"]

#: What the ``cdef`` twin of a ``def`` function is called, before its name.
TWIN = "__ufm_def_"


@dataclass(frozen=True)
class CType:
    """A type as C sees it.

    Attributes
    ----------
    kind : {"number", "array", "pointer", "tuple", "void", "object", "other"}
    c : str
        For numbers, and the elements of arrays and pointers: C's spelling.
    const : bool
        Elements cannot be written to.
    ndim : int
        Of an array (a typed memoryview).
    fields : tuple of CType
        Of a ctuple.
    shown : str
        As Cython spells it.
    """

    kind: str
    c: str = ""
    const: bool = False
    ndim: int = 0
    fields: tuple[CType, ...] = ()
    shown: str = ""


@dataclass(frozen=True)
class CyParameter:
    """One parameter; ``default`` if it may be left out."""

    name: str
    type: CType
    default: bool = False


@dataclass(frozen=True)
class CyFunction:
    """One function of the module, or one specialisation of it.

    Attributes
    ----------
    name : str
    kind : {"cdef", "cpdef", "def"}
    line : int
        Of its ``def``, in the cell.
    cname : str
        The C function to call, ``""`` if there is none.
    parameters : tuple of CyParameter
    returns : CType
    skip_dispatch : bool
        C's last parameter is the ``int`` that every cpdef function has.
    value : str
        The C constant that it returns beside an exception, ``""`` if any value may be one.
    raises : bool
        It may set an exception at all.
    nogil : bool
        Declared so.
    varargs : bool
        It takes ``*args``, ``**kwargs`` or keyword-only parameters.
    fused : dict
        Fused type -> the type chosen here.
    doc : str
    """

    name: str
    kind: str
    line: int
    cname: str
    parameters: tuple[CyParameter, ...]
    returns: CType
    skip_dispatch: bool = False
    value: str = ""
    raises: bool = True
    nogil: bool = False
    varargs: bool = False
    fused: Mapping[str, str] = field(default_factory=dict)
    doc: str = ""


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
    diagnostics = faults.warnings(heard.warnings, name=name, cell=source)
    page = path.with_suffix(".html")
    return Translated(
        c=run.c_file.read_text(encoding="utf-8"),
        functions=tuple(_functions(run)),
        free=_free(run),
        diagnostics=diagnostics,
        annotated=page if annotate and page.exists() else None,
    )


def _compile_error(heard: faults.Listening, *, name: str, cell: str) -> CompileError:
    # A twin repeats the complaints about its original.
    said = [c for n, c in enumerate(heard.errors) if c not in heard.errors[:n]]
    return faults.compile_error(said, name=name, cell=cell)


# ------------------------------------------------------------------------------------- the pipeline


@dataclass(eq=False)
class _Run:
    """One pass of the pipeline, and what its stages have noted."""

    desc: Any
    context: Any
    c_file: Path
    wanted: Mapping[str, Any]
    text: Text
    tree: Any = None
    #: def functions by name, as parsed
    defs: dict[str, Any] = field(default_factory=dict)
    #: Name -> the type that its twin was declared to return, or that its original was found to.
    twins: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)
    #: def functions by name, after analysis.
    definitions: dict[str, Any] = field(default_factory=dict)
    docs: dict[str, str] = field(default_factory=dict)


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
) -> tuple[faults.Listening, _Run]:
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
    listening = faults.Listening(path)
    desc = Main.FileSourceDescriptor(str(path), name)
    desc.file_path = name  # what tracebacks say
    with listening:
        context = Main.Context.from_options(options)
        source = Main.CompilationSource(desc, EncodedString(module), str(path.parent))
        result = Main.create_default_resultobj(source, options)
        run = _Run(desc, context, c_file, wanted, text)
        Pipeline.run_pipeline(_stages(run, Pipeline.create_pyx_pipeline(context, options, result)), source)
    return listening, run


def _stages(run: _Run, stages: Sequence[Any]) -> list[Any]:
    """The pipeline with three looks at the tree: after parsing, after the analysis, before C is written."""
    looking = [stages[0], lambda tree: _add_twins(run, tree)]
    for stage in stages[1:-1]:
        looking.append(stage)
        if isinstance(stage, AnalyseExpressionsTransform):
            looking.append(lambda tree: _note_returns(run, tree))

    def keep(tree: Any) -> Any:
        run.tree = tree
        for entry in tree.scope.cfunc_entries:
            if entry.pos is not None and entry.pos[0] is run.desc:
                entry.used = True  # or C has no specialisation of a fused function that nobody calls
        return tree

    return [*looking, keep, stages[-1]]


# ------------------------------------------------------------------------- twins of def functions


def _add_twins(run: _Run, tree: Any) -> Any:
    if not isinstance(tree.body, Nodes.StatListNode):  # a module of one statement
        tree.body = Nodes.StatListNode(tree.body.pos, stats=[tree.body])
    statements = tree.body.stats
    added = []
    for node in statements:
        if isinstance(node, Nodes.FuncDefNode) and node.doc:
            name = node.name if isinstance(node, Nodes.DefNode) else node.declarator.declared_name()
            run.docs[str(name)] = str(node.doc)
        if not isinstance(node, Nodes.DefNode):
            continue
        arrays = bool(run.text.annotation(node.pos[1]))
        if not _is_numeric_def(node, arrays=arrays):
            continue
        run.defs[node.name] = node
        asked = run.wanted.get(node.name) or guess(node, tree, void=arrays)
        if asked is None:
            continue
        twin = copy.deepcopy(node).as_cfunction(
            overridable=False, except_val=(None, True), has_explicit_exc_clause=True
        )
        twin.declarator.base.name = EncodedString(TWIN + node.name)
        twin.base_type = Nodes.CAnalysedBaseTypeNode(node.pos, type=asked)
        twin.doc, twin.decorators = None, copy.deepcopy(node.decorators)
        run.twins[node.name] = asked
        added.append(twin)
    statements += added
    return tree


def _is_numeric_def(node: Any, *, arrays: bool) -> bool:
    """A plain function all of whose parameters are declared, and may be numbers as far as the text tells.

    Or typed memoryviews, where a comment asks for a ufunc.
    """
    kinds = (Nodes.CSimpleBaseTypeNode, Nodes.MemoryViewSliceTypeNode) if arrays else Nodes.CSimpleBaseTypeNode
    if node.star_arg or node.starstar_arg or not node.args or node.is_async_def:
        return False
    if not all(_is_directive(decorator.decorator) for decorator in node.decorators or ()):
        return False
    return all(
        not arg.default
        and not arg.kw_only
        and isinstance(arg.declarator, Nodes.CNameDeclaratorNode)
        and isinstance(arg.base_type, kinds)
        and (arg.declarator.name or _is_annotated(arg))
        for arg in node.args
    )


def _is_annotated(arg: Any) -> bool:
    """``x: cython.double``, or ``x: float``, which Cython takes for one."""
    said = str(getattr(getattr(arg.annotation, "string", None), "value", ""))
    return said.startswith("cython.") or said == "float"


def _is_directive(decorator: Any) -> bool:
    """``@cython.boundscheck(False)`` and its like, which change how a function is compiled and not what it is."""
    if isinstance(decorator, ExprNodes.SimpleCallNode):
        decorator = decorator.function
    own = isinstance(decorator, ExprNodes.AttributeNode) and getattr(decorator.obj, "name", "") == "cython"
    return own and decorator.attribute not in ("cfunc", "ccall", "ufunc", "returns", "locals", "exceptval")


class _Returns(TreeVisitor):  # type: ignore[misc]
    """Types of the values that one function returns; None among them stands for what is no C number."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[Any] = []

    def visit_Node(self, node: Any) -> None:
        self.visitchildren(node)

    def visit_ReturnStatNode(self, node: Any) -> None:
        value = node.value
        while isinstance(value, ExprNodes.CoerceToTempNode | ExprNodes.TypecastNode) and value.type.is_pyobject:
            value = getattr(value, "arg", None) or value.operand
        found = value.arg.type if isinstance(value, ExprNodes.CoerceToPyTypeNode) else None
        if isinstance(value, ExprNodes.BoolNode):
            found = PyrexTypes.c_bint_type
        elif isinstance(value, ExprNodes.IntNode):
            found = PyrexTypes.c_long_type
        elif isinstance(value, ExprNodes.FloatNode):
            found = PyrexTypes.c_double_type
        if found is PyrexTypes.soft_complex_type:  # x ** 0.5: a double, or TypeError where it is complex
            found = PyrexTypes.c_double_type
        self.types.append(found if found is not None and _is_number(found) else None)

    def visit_FuncDefNode(self, node: Any) -> None:
        """What an inner function returns is its own."""

    visit_LambdaNode = visit_GeneratorExpressionNode = visit_FuncDefNode

    def visit_YieldExprNode(self, node: Any) -> None:
        self.types.append(None)


class _Definitions(TreeVisitor):  # type: ignore[misc]
    """The module's def functions, after analysis."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, Any] = {}

    def visit_Node(self, node: Any) -> None:
        self.visitchildren(node)

    def visit_DefNode(self, node: Any) -> None:
        if not node.entry.scope.is_c_class_scope and not node.is_generator:
            self.found[node.name] = node

    def visit_CFuncDefNode(self, node: Any) -> None:
        """Its wrapper is no function of the user's."""

    visit_ClassDefNode = visit_LambdaNode = visit_CFuncDefNode


def _note_returns(run: _Run, tree: Any) -> Any:
    definitions = _Definitions()
    definitions.visit(tree)
    run.definitions = definitions.found
    for name in run.defs:
        node = definitions.found.get(name)
        if node is None or not all(_is_number(arg.type) or arg.type.is_memoryviewslice for arg in node.args):
            continue
        seen = _Returns()
        seen.visitchildren(node, ["body"])
        if not seen.types and run.text.annotation(node.pos[1]):
            run.returned[name] = PyrexTypes.c_void_type
        if not seen.types or None in seen.types or not node.body.is_terminator:
            continue
        joined = seen.types[0]
        for other in seen.types[1:]:
            joined = PyrexTypes.spanning_type(joined, other)
        if _is_number(joined):
            run.returned[name] = joined
    return tree


# ------------------------------------------------------------------------------- the symbol table


def _is_number(kind: Any) -> bool:
    kind = PyrexTypes.remove_cv_ref(kind) if hasattr(PyrexTypes, "remove_cv_ref") else kind
    return bool(kind.is_numeric) and not getattr(kind, "is_unicode_char", False) and not kind.is_pyobject


def _ctype(kind: Any) -> CType:
    shown = str(kind)
    const = bool(getattr(kind, "is_const", False))
    if getattr(kind, "is_cv_qualified", False):
        kind = kind.cv_base_type
    if kind.is_void:
        return CType("void", shown=shown)
    if kind.is_pyobject:
        if getattr(kind, "is_buffer", False) and kind.dtype.is_numeric:
            element = _ctype(kind.dtype)
            return CType("object", element.c, ndim=kind.ndim, shown=f"numpy.ndarray of {kind.dtype}")
        return CType("object", shown="numpy.ndarray" if "ndarray" in shown else shown)
    if kind.is_memoryviewslice:
        element = _ctype(kind.dtype)
        direct = all(access == "direct" for access, _ in kind.axes)
        if element.kind != "number" or not direct:
            return CType("other", shown=shown)
        return CType("array", element.c, element.const, len(kind.axes), shown=shown)
    if kind.is_ptr and not kind.base_type.is_cfunction:
        element = _ctype(kind.base_type)
        if element.kind != "number" or kind.base_type is PyrexTypes.c_char_type:
            return CType("other", shown=shown)
        return CType("pointer", element.c, element.const, shown=shown)
    if getattr(kind, "is_ctuple", False):
        fields = tuple(_ctype(component) for component in kind.components)
        return CType("tuple" if all(f.kind == "number" for f in fields) else "other", fields=fields, shown=shown)
    if _is_number(kind) and not kind.is_fused:
        bint = kind is PyrexTypes.c_bint_type
        return CType("number", "bint" if bint else kind.empty_declaration_code(), const, shown=shown)
    return CType("other", shown=shown)


def _functions(run: _Run) -> list[CyFunction]:
    scope = run.tree.scope
    made: list[CyFunction] = []
    twins = {}
    seen: set[str] = set()
    for entry in scope.cfunc_entries:
        if entry.pos is None or entry.pos[0] is not run.desc or entry.visibility == "extern":
            continue
        if not entry.type.is_cfunction or not entry.func_cname or entry.func_cname in seen or entry.type.is_fused:
            continue
        seen.add(entry.func_cname)
        function = _c_function(entry, run)
        if function.name.startswith(TWIN):
            twins[function.name.removeprefix(TWIN)] = function
        else:
            made.append(function)
    known = {function.name for function in made}
    for name, node in run.definitions.items():
        if name not in known and node.pos[0] is run.desc:
            made.append(_def_function(node, twins.get(name) if name in run.returned else None, run))
    return sorted(made, key=lambda f: f.line)


def _c_function(entry: Any, run: _Run) -> CyFunction:
    kind = entry.type
    optional = len(kind.args) - kind.optional_arg_count
    parameters = [
        CyParameter(str(arg.name or f"x{n}"), _ctype(arg.type), n >= optional) for n, arg in enumerate(kind.args)
    ]
    value = kind.exception_value
    fused = {str(f): str(t) for f, t in (getattr(kind, "fused_to_specific", None) or {}).items()}
    return CyFunction(
        name=str(entry.name).partition("[")[0],
        kind="cpdef" if kind.is_overridable else "cdef",
        line=entry.pos[1],
        cname=entry.func_cname,
        parameters=tuple(parameters),
        returns=_ctype(kind.return_type),
        skip_dispatch=bool(kind.is_overridable),
        value="" if value is None else str(value),
        raises=bool(kind.exception_check) or value is not None,
        nogil=bool(kind.nogil),
        varargs=bool(kind.has_varargs),
        fused=fused,
        doc=run.docs.get(str(entry.name).partition("[")[0], ""),
    )


def _def_function(node: Any, twin: CyFunction | None, run: _Run) -> CyFunction:
    name = str(node.name)
    parameters = tuple(CyParameter(str(a.name), _ctype(a.type), bool(a.default)) for a in node.args)
    made = CyFunction(
        name,
        "def",
        node.pos[1],
        "",
        parameters,
        CType("object", shown="object"),
        varargs=bool(node.star_arg or node.starstar_arg or any(a.kw_only for a in node.args)),
        doc=run.docs.get(name, ""),
    )
    return made if twin is None else replace(made, cname=twin.cname, parameters=twin.parameters, returns=twin.returns)


def _free(run: _Run) -> frozenset[str]:
    """C names of everything that was declared nogil, in the cell and in what it cimports."""
    found: set[str] = set()
    scopes, waiting = set(), [run.tree.scope, *run.context.modules.values()]
    while waiting:
        scope = waiting.pop()
        if id(scope) in scopes or not hasattr(scope, "entries"):
            continue
        scopes.add(id(scope))
        for entry in list(scope.entries.values()):
            waiting.extend(filter(None, (entry.as_module, getattr(entry.type, "scope", None))))
            if entry.is_cfunction and entry.type.is_cfunction and entry.type.nogil:
                found.update({str(entry.func_cname or ""), str(entry.cname)})
            for other in entry.overloaded_alternatives:
                if getattr(other.type, "nogil", False):
                    found.add(str(other.func_cname or other.cname))
    return frozenset(found - {""})
