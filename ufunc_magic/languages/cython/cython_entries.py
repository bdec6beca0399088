"""Entries from Python into a cell, which contain its faults: functions, methods, special methods, generators.

Cython's tree is changed last, just before Cython writes C.  The wrapper that Python calls then opens a frame
(``templates/entries.h``) and calls the function.  A frame costs 9 ns, so a function that can neither fault nor loop for
ever has none, and only looks whether the stack is full where it runs Python.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...codegen import template
from ._private import Naming, Nodes, UtilityCode, VisitorTransform
from .cython_hazards import Hazard, Hazards


class Entering(VisitorTransform):  # type: ignore[misc, unused-ignore]
    """Has entries into the functions of a cell contained; those of Cython's own library are left alone."""

    _hazards: Hazards

    def __init__(self, desc: Any) -> None:
        super().__init__()
        self._desc = desc

    def visit_ModuleNode(self, node: Any) -> Any:
        # Without #line: the lines of Cython's C are found by their numbers in the whole.
        head = template("entries.h").replace('#include "frame.h"', template("frame.h"))
        node.scope.use_utility_code(UtilityCode(proto=head, impl=template("execute.c")))
        self._hazards = Hazards(node, self._desc)
        self.visitchildren(node)
        return node

    def visit_Node(self, node: Any) -> Any:
        self.visitchildren(node)
        return node

    def visit_CFuncDefNode(self, node: Any) -> Any:
        self.visitchildren(node)
        if node.py_func is not None:
            self._contain(node.py_func)
        return node

    def visit_DefNode(self, node: Any) -> Any:
        self.visitchildren(node)
        self._contain(node)
        return node

    def visit_GeneratorBodyDefNode(self, node: Any) -> Any:
        self.visitchildren(node)
        if node.pos[0] is self._desc and not node.is_inlined:
            hazard = self._hazards.find(node)
            node.generate_function_header = _GeneratorHeader(node, hazard, self._hazards.overruns(node))
            for loop in self._hazards.list_loops(node) if hazard != "fault" else ():
                loop.body = Nodes.StatListNode(loop.pos, stats=[_Look(loop.pos, name=_name(node.entry)), loop.body])
        return node

    def _contain(self, node: Any) -> None:
        wrapper = node.py_wrapper
        if wrapper is None or node.pos[0] is not self._desc or isinstance(wrapper, (_Contained, _Limited)):
            return
        if hazard := self._hazards.find(node):
            wrapper.__class__ = _Contained if hazard == "fault" else _Limited
            wrapper.has_margin = self._hazards.overruns(node)


class _Contained(Nodes.DefNodeWrapper):  # type: ignore[misc, unused-ignore]
    """A wrapper that opens a frame and calls its function."""

    def generate_function_body(self, code: Any) -> None:
        entry, value = self.target.entry, self.error_value()
        code.putln(f"{{ {_declare_entry(self.has_margin)}")
        # Not a part of this function: what is jumped to costs registers.
        code.putln(f"extern __typeof__({entry.pyfunc_cname}) {entry.pyfunc_cname} __attribute__((noinline));")
        code.putln("if (__UFM_SET_JUMP(__ufm_e.frame.jump)) {")
        code.putln(f'__ufm_came_back(&__ufm_e, "{_name(entry)}");')
        if self.return_type.is_void:
            code.putln("PyErr_WriteUnraisable(NULL);")
        else:
            code.putln(f"{Naming.retval_cname} = {value};")
        code.putln("} else { __ufm_enter(&__ufm_e);")
        super().generate_function_body(code)
        code.putln("__ufm_leave(&__ufm_e); } }")


class _Limited(Nodes.DefNodeWrapper):  # type: ignore[misc, unused-ignore]
    """A wrapper that calls its function unless the stack is full."""

    def generate_function_body(self, code: Any) -> None:
        code.putln(f'if (__ufm_is_full("{_name(self.target.entry)}")) {{')
        if self.return_type.is_void:
            code.putln("PyErr_WriteUnraisable(NULL);")
        else:
            code.putln(f"{Naming.retval_cname} = {self.error_value()};")
        code.putln("} else {")
        super().generate_function_body(code)
        code.putln("}")


class _Look(Nodes.StatNode):  # type: ignore[misc, unused-ignore]
    """A statement of a loop: looks at the stack, and whether the user wants out."""

    child_attrs: ClassVar[list[str]] = []

    def generate_execution_code(self, code: Any) -> None:
        code.putln(f'if (__ufm_is_full("{self.name}")) {code.error_goto(self.pos)}')


class _GeneratorHeader:
    """Writes the head of a generator's body, and above it a function that opens a frame and calls the body.

    Where a frame is not needed, the head is Cython's, with a look at the stack.
    """

    def __init__(self, node: Any, hazard: Hazard, has_margin: bool) -> None:
        self._node, self._write, self._hazard = node, node.generate_function_header, hazard
        self._has_margin = has_margin

    def __call__(self, code: Any, proto: bool = False) -> None:
        if proto:
            self._write(code, proto=True)
            return
        entry = self._node.entry
        if self._hazard != "fault":
            self._write(code)
            code.putln(f'if (__ufm_is_full("{_name(entry)}")) {{')
            code.putln(f"{Naming.generator_cname}->resume_label = -1; return NULL; }}")
            return
        name, arguments = entry.func_cname, (Naming.generator_cname, Naming.local_tstate_cname, Naming.sent_value_cname)
        inner = f"__ufm_{name}"
        entry.func_cname = inner
        self._write(code, proto=True)
        entry.func_cname = name
        self._write(code)
        code.putln(f"extern __typeof__({inner}) {inner} __attribute__((noinline));")
        code.putln(f"{_declare_entry(self._has_margin)} PyObject *__ufm_r;")
        code.putln("if (__UFM_SET_JUMP(__ufm_e.frame.jump)) {")
        code.putln(f'__ufm_came_back(&__ufm_e, "{_name(entry)}");')
        code.putln(f"{Naming.generator_cname}->resume_label = -1; return NULL; }}")
        code.putln("__ufm_enter(&__ufm_e);")
        code.putln(f"__ufm_r = {inner}({', '.join(arguments)});")
        code.putln("__ufm_leave(&__ufm_e); return __ufm_r; }")
        entry.func_cname = inner
        self._write(code)
        entry.func_cname = name


def _declare_entry(has_margin: bool) -> str:
    """The declaration of an entry; where arrays may be overrun, the function has room below all that it needs."""
    return "__ufm_entry __ufm_e; __UFM_MAKE_ROOM" if has_margin else "__ufm_entry __ufm_e;"


def _name(entry: Any) -> str:
    """The name of a function in messages: ``f``, ``Class.method``."""
    scope = entry.scope.qualified_name if entry.scope is not None else ""
    name = str(entry.qualified_name or entry.name)
    module = str(entry.scope.global_scope().qualified_name) if scope else ""
    return name.removeprefix(f"{module}.")
