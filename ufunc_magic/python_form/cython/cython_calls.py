"""Calls in a Cython cell: of its own functions, of methods, and of everything that is known by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..c_arithmetic import CType
from ..math_names import known
from ..value import ATOM, Expr
from .cython_cell import Routine
from .cython_library import UNKNOWN, Library
from .cython_tree import dotted, kind, stop
from .cython_types import OBJECT

__all__ = ["Calls"]


class Calls(Library):
    """Translates calls."""

    def _SimpleCallNode(self, node: Any) -> Expr:
        return self.called(node, list(node.args), {})

    def _GeneralCallNode(self, node: Any) -> Expr:
        positional = node.positional_args
        keywords = node.keyword_args
        if kind(positional) != "TupleNode" or (keywords is not None and kind(keywords) != "DictNode"):
            raise stop(f"calls with unpacked arguments: `{self.text(node)}`", node)
        pairs = keywords.key_value_pairs if keywords is not None else []
        return self.called(node, list(positional.args), {str(p.key.value): p.value for p in pairs})

    def called(self, node: Any, args: list[Any], keywords: dict[str, Any]) -> Expr:
        function = node.function
        name = dotted(function)
        root = name.partition(".")[0]
        if kind(function) in ("IndexNode", "TemplatedTypeNode"):
            return self._constructed(function, args, node)
        if not name or root in self.variables or root in self.untyped:
            return self._method(function, args, keywords, node)
        cell = self.own
        if name in cell.functions:
            return self._own(cell.functions[name], args, keywords, node)
        if root in cell.imports and not (root in cell.types.cimports and self._is_c(root, name)):
            return self._plain_call(self.value(function), args, keywords)
        if root in cell.types.cimports:
            full = ".".join([cell.types.cimports[root], *name.split(".")[1:]])
            return self._c_call(full, args, keywords, node)
        if name in cell.externs:
            return self._extern(name, args, node)
        if name in cell.types.structs:
            return self._structure(name, args, keywords, node)
        if root in cell.constants or root != name:
            return self._method(function, args, keywords, node)
        if name in cell.types.typedefs or name in cell.types.fused_names:
            return self.cast(self.value(args[0]), cell.types.by_path([name], node), node)
        if name in ("abs", "min", "max", "len", "int", "float", "bool", "round", "pow", "complex", "sum"):
            return self._builtin(name, args, keywords, node)
        if name == "__import__" or name in ("eval", "exec", "open", "input", "globals", "setattr", "compile"):
            raise stop(f"calls `{name}`", node)
        return self._plain_call(self._python_name(name, node), args, keywords)

    def _is_c(self, root: str, name: str) -> bool:
        return "." not in name and self.own.types.cimports[root].startswith(("libc.", "libcpp."))

    def _python_name(self, name: str, node: Any) -> Expr:
        if name in _PYTHON_CALLS:
            return Expr(name, OBJECT)
        return self.outer(name, node)

    # -- the cell's own ---------------------------------------------------------------------------

    def _own(self, routines: Sequence[Routine], args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        routine = next((r for r in routines if len(r.given) == len(args) + len(keywords)), routines[0])
        self.own.routines[routine.name] = routine
        texts = []
        for position, argument in enumerate(args):
            t = self.parameter_type(routine, position) if position < len(routine.given) else OBJECT
            texts.append(self.convert(self.value_for(argument, t), t, node=node, final=True).text)
        for name, argument in keywords.items():
            texts.append(f"{name}={self.settled(argument).text}")
        t = self.result_type(routine)
        return Expr(f"{routine.name}({', '.join(texts)})", t, truth=t.kind == "b")

    def parameter_type(self, routine: Routine, position: int) -> CType:
        given = routine.given[position]
        if given.name in routine.locals:
            return self.own.types.annotated(routine.locals[given.name])
        if given.annotation is not None:
            return self.own.types.annotated(given.annotation)
        return OBJECT if given.base is None else self.own.types.declared(given.base, given.declarator)

    def result_type(self, routine: Routine) -> CType:
        """What a call gives: a Python object where the cell names no type, None's object for ``void``."""
        if routine.returns is None or (not routine.typed and not routine.annotated):
            return OBJECT
        types = self.own.types
        return types.annotated(routine.returns) if routine.annotated else types.named(routine.returns)

    def _extern(self, name: str, args: list[Any], node: Any) -> Expr:
        entry = known(self.own.externs[name])
        if entry is None or entry[0].call in UNKNOWN:
            raise stop(f"calls `{name}`, which comes from C", node)
        return self._known(entry[0], entry[1], args, node)

    def _structure(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        t = self.own.types.by_path([name], node)
        given = dict(zip([field for field, _ in t.fields], args, strict=False)) | keywords
        parts = [f"{f}={self.convert(self.value(given[f]), of).text}" for f, of in t.fields if f in given]
        return Expr(f"SimpleNamespace({', '.join(parts)})", t)

    # -- methods ----------------------------------------------------------------------------------

    def _method(self, function: Any, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        if kind(function) != "AttributeNode":
            return self._plain_call(self.settled(function), args, keywords)
        base = self.settled(function.obj)
        name = str(function.attribute)
        if base.type.kind == "V":
            return self._of_vector(base, name, args, node)
        if base.type.kind == "c" and name == "conjugate":
            return Expr(f"{base.at(ATOM)}.conjugate()", base.type)
        if base.type.kind == "a" and self.in_lists(base.type):
            if name == "copy":
                return Expr(f"{base.at(ATOM)}[:]", base.type)
            raise stop(f"uses `.{name}()` of an array", node)
        if base.type.kind in "psv":
            raise stop(f"calls `.{name}`", node)
        return self._plain_call(Expr(f"{base.at(ATOM)}.{name}", OBJECT), args, keywords)


_PYTHON_CALLS = frozenset(
    "range enumerate zip sorted reversed list tuple dict set frozenset str repr isinstance divmod all any map filter "
    "ord chr bytes bytearray hash id iter next print type format round sum slice object super getattr hasattr "
    "float int bool complex abs min max len pow callable hex bin oct "
    "Exception ValueError TypeError ZeroDivisionError OverflowError IndexError KeyError ArithmeticError "
    "AssertionError RuntimeError StopIteration AttributeError MemoryError LookupError FloatingPointError "
    "NotImplementedError OSError".split()
)
