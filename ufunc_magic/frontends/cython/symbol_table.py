"""What Cython's symbol table says of the functions of a cell: names, types, exception clauses, specialisations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from Cython.Compiler import PyrexTypes

from .cython_run import Run

__all__ = ["TWIN", "CType", "CyFunction", "CyParameter", "free_functions", "functions", "is_number"]

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


def is_number(kind: Any) -> bool:
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
    if is_number(kind) and not kind.is_fused:
        bint = kind is PyrexTypes.c_bint_type
        return CType("number", "bint" if bint else kind.empty_declaration_code(), const, shown=shown)
    return CType("other", shown=shown)


def functions(run: Run) -> list[CyFunction]:
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


def _c_function(entry: Any, run: Run) -> CyFunction:
    kind = entry.type
    optional = len(kind.args) - kind.optional_arg_count
    parameters = [
        CyParameter(str(arg.name or f"x{n}"), _ctype(arg.type), n >= optional) for n, arg in enumerate(kind.args)
    ]
    value = kind.exception_value
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
        fused=_specialization(run.tree.scope.entries.get(str(entry.name).partition("[")[0]), kind),
        doc=run.docs.get(str(entry.name).partition("[")[0], ""),
    )


def _specialization(general: Any, specific: Any) -> dict[str, str]:
    """What each fused type stands for in one specialisation of a function: ``{"number": "double"}``.

    Cython remembers this in the scope of the copied tree only, so it is found again by specialising.
    """
    kind = getattr(general, "type", None)
    if kind is None or not kind.is_fused or not kind.is_cfunction or len(kind.args) != len(specific.args):
        return {}
    for _, chosen in kind.get_all_specialized_permutations():
        types = [arg.type.specialize(chosen) if arg.type.is_fused else arg.type for arg in kind.args]
        if all(one.same_as(arg.type) for one, arg in zip(types, specific.args, strict=True)):
            return {fused.name: str(t) for fused, t in chosen.items()}
    return {}


def _def_function(node: Any, twin: CyFunction | None, run: Run) -> CyFunction:
    name = str(node.name)
    fused = CType("other", shown="fused type, of which only cdef and cpdef make loops")
    types = [fused if a.type.is_fused else _ctype(a.type) for a in node.args]
    parameters = tuple(CyParameter(str(a.name), t, bool(a.default)) for a, t in zip(node.args, types, strict=True))
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


def free_functions(run: Run) -> frozenset[str]:
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
