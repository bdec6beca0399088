"""Clones of the cell's C functions that need no Python and no GIL: the vectorized loops call them.

In the C that Cython writes, most functions of numbers touch Python only where they raise.  A clone has, in the
place of each such block, a flag that it sets; the loop computes a block of elements without the GIL, and
where the flag is set the block is computed once more by the function itself, which then raises.  Only a text
in which every call is known to be harmless is cloned; the rest runs with the GIL.  Pure text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from ... import ir
from ._private import CODE_SECTION, TYPES_SECTION, describe_unknown_cython
from .cython_function import CyFunction
from .cython_rewrites import POWER

#: Name of the parameter that a clone sets where it would raise.
_FAULT = "__ufm_fault"

_HEAD = re.compile(r"^static (?P<head>[^\n;{}=]*?)(?P<name>__pyx_\w+)\((?P<params>[^\n]*)\) \{\n", re.M)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_UNCONDITIONAL = re.compile(r"(?:^|\n)[ \t]*__PYX_ERR\(\d+, \d+, (__pyx_L\w+)\)\s*$")
#: Cython's way to keep the condition of an assert that is compiled out free of warnings.
_NO_ASSERT = re.compile(r"#else\s*if \(\(1\)\); else __PYX_ERR\([^)]*\)\s*\n")
_GIL_BLOCK = "PyGILState_STATE __pyx_gilstate_save = "
_AFTER_CALL = re.compile(
    r"if \(unlikely\([^;{}]*?(?:(?:PyErr_Occurred|__Pyx_ErrOccurredWithGIL)\(\)|== \(\([a-z ]+\)-?[\w.]+\))\)+ "
    r"__PYX_ERR\(\d+, \d+, (__pyx_L\w+)\)"
)
_ERROR_EXIT = re.compile(r"__pyx_L1_error:;(?P<code>.*?)(?P<end>__pyx_L0:;|\Z)", re.S)
#: Declarations and marks that a clone does not need.
_IDLE = re.compile(
    r"^[ \t]*(?:PyObject \*__pyx_\w+ = NULL;|int __pyx_(?:lineno|clineno) = 0;|const char \*__pyx_filename = NULL;|"
    r"PyGILState_STATE __pyx_gilstate_save;|__Pyx_RefNanny\w+(?:\([^;]*\))?;?|__Pyx_TraceDeclarations\w*|"
    r"size_t __pyx_t_\d+;|#(?:ifdef|if|endif|ifndef)[^\n]*)[ \t]*\n",
    re.M,
)
#: A word of C, and the bracket of a call.
_WORD = re.compile(r"(\w+)\s*(\(?)")
_KEYWORDS = frozenset("if for while switch return sizeof likely unlikely do else defined".split())
#: Beginnings of the names of Cython's own functions that are arithmetic and nothing else.
_ARITHMETIC = (
    "__Pyx_pow_", "__Pyx_div_", "__Pyx_mod_", "__Pyx_abs_", "__Pyx_c_", "__Pyx_CREAL", "__Pyx_CIMAG", "__Pyx_SET_C",
    "__Pyx_UNARY_", "__PYX_NAN", "__pyx_assertions_enabled", "__PYX_INC_MEMVIEW", "__PYX_XCLEAR_MEMVIEW",
)  # fmt: skip
#: Beginnings of names of Python's objects, and words with which C may call or leave in a way that no clone can.
_PYTHON = ("__pyx_mstate", "__pyx_n_", "__pyx_kp_", "__pyx_k_", "__pyx_codeobj_", "__pyx_builtin", "__pyx_vtab")
_PYTHON_NUMBERS = ("Py_ssize_t", "Py_intptr_t")
_LEAVING = frozenset(("try", "catch", "pragma", "PyObject", "__PYX_ERR"))
_POINTER_CALL = re.compile(r"\(\*+\s*__pyx_\w+\)\s*\(")
_INLINE = frozenset(("CYTHON_INLINE", "CYTHON_UNUSED", "inline"))


@dataclass(frozen=True)
class Definition:
    """One function as Cython wrote it: its result type, its parameters and its body without the outer braces."""

    name: str
    returns: str
    parameters: str
    body: str


@dataclass(frozen=True)
class Clone:
    """One clone.

    Attributes
    ----------
    name : str
        Its C name.
    text : str
        Its definition.
    fails : bool
        It takes an ``int *`` at the end, and sets it where the function would raise.
    calls : frozenset of str
        Every C function that it calls, through the cell's own too.
    loops, pure, recursive : bool
        It holds a loop, or something it calls does; it writes to nothing but its own variables; it calls itself.
    size : int
        Words in it and in the functions that it calls.
    """

    name: str
    text: str
    fails: bool
    calls: frozenset[str]
    loops: bool
    pure: bool
    size: int
    recursive: bool = False


def find_user_part(c: str, *, name: str) -> tuple[int, int]:
    """Start and end of the cell's functions in Cython's C; the end of the text twice where there are none."""
    start = c.find(CODE_SECTION)
    end = c.find(TYPES_SECTION, start)
    first = c.find(f'/* "{name}":', start, end) if start >= 0 else -1
    return (first, end) if first >= 0 else (len(c), len(c))


def find_definitions(c: str, *, name: str) -> dict[str, Definition]:
    """The functions of the cell by C name."""
    if CODE_SECTION not in c or TYPES_SECTION not in c:
        raise describe_unknown_cython("its C has no section of the module's code")
    defined = {}
    for m in _HEAD.finditer(c, *find_user_part(c, name=name)):
        returns = " ".join(word for word in m["head"].split() if word not in _INLINE)
        body = _COMMENT.sub("", c[m.end() : _find_closing(c, m.end() - 2)])
        defined[m["name"]] = Definition(m["name"], returns, m["params"], body)
    return defined


#: A bracket; those in comments and strings do not count.
_BRACKET = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[{}()]', re.S)


def _find_closing(text: str, start: int) -> int:
    """Where the bracket at ``start`` is closed."""
    depth, opening = 0, text[start]
    closing = {"{": "}", "(": ")"}[opening]
    for m in _BRACKET.finditer(text, start):
        depth += (m[0] == opening) - (m[0] == closing)
        if depth == 0:
            return m.start()
    return len(text)


#: The clone of Cython's function for powers that must not be complex.
_POWER_CLONE = f"""static inline double __ufm_clone_power(double __ufm_b, double __ufm_e, int *{_FAULT})
{{
    double __ufm_r = pow(__ufm_b, __ufm_e);
    if (__ufm_r != __ufm_r && __ufm_b == __ufm_b && __ufm_e == __ufm_e) *{_FAULT} = 1;
    return __ufm_r;
}}
"""


def make_clones(
    defined: Mapping[str, Definition],
    names: Iterable[str],
    *,
    functions: Iterable[CyFunction],
    free: frozenset[str],
) -> dict[str, Clone]:
    """Make a clone of each function of ``names`` that can have one, and of the functions that those call.

    Parameters
    ----------
    defined : mapping
        The result of `find_definitions`.
    names : iterable of str
        C names.
    functions : iterable of CyFunction
        The functions of the cell.
    free : frozenset of str
        C functions that may be called without the GIL.

    Returns
    -------
    dict
        In an order in which none calls a later one.
    """
    cloned: dict[str, Clone] = {}
    power = Clone("__ufm_clone_power", _POWER_CLONE, True, frozenset({"pow"}), loops=False, pure=True, size=20)
    refused: set[str] = set() if "pow" in free else {POWER}
    by_name = {function.cname: function for function in functions if function.cname}

    def make(name: str, above: tuple[str, ...]) -> bool:
        if name == POWER and name not in refused:
            cloned[name] = power
        if name in cloned:
            return True
        if name in refused or name in above or name not in defined:
            return False
        clone = _make_clone(
            defined[name],
            by_name.get(name),
            lambda other: make(other, (*above, name)),
            cloned,
            defined.keys(),
            free,
        )
        if clone is None:
            refused.add(name)
            return False
        cloned[name] = clone
        return True

    for name in names:
        make(name, ())
    return cloned


def _make_clone(
    definition: Definition,
    function: CyFunction | None,
    make: Callable[[str], bool],
    cloned: Mapping[str, Clone],
    defined: Set[str],
    free: frozenset[str],
) -> Clone | None:
    """Make the clone of one function; None where it needs Python."""
    body = _replace_raising(_IDLE.sub("", _NO_ASSERT.sub("", definition.body)), past=_may_go_past(function))
    parameters = definition.parameters.replace("CYTHON_UNUSED ", "").replace("CYTHON_NCP_UNUSED ", "")
    words = _WORD.findall(body)
    if any(map(_needs_python, {word for word, _ in words})) or _POINTER_CALL.search(body) or "PyObject" in parameters:
        return None
    called = {word for word, bracket in words if bracket} - _KEYWORDS
    own = {n for n in called if n == POWER or (n in defined and n.startswith(("__pyx_f_", "__pyx_fuse_")))}
    strange = {n for n in called - own if n not in free and not _is_arithmetic(n)}
    itself = definition.name in own
    own.discard(definition.name)
    if strange or not all(make(name) for name in sorted(own)):
        return None
    callees = {name: cloned[name] for name in own}
    fails = _FAULT in body or any(c.fails for c in callees.values())
    name = definition.name.replace("__pyx_", "__ufm_clone_", 1)
    for called_name, callee in callees.items():
        body = _rename_calls(body, called_name, callee.name, fails=callee.fails)
    if itself:
        body = _rename_calls(body, definition.name, name, fails=fails)
    if fails:
        parameters = f"{parameters}, int *{_FAULT}" if parameters != "void" else f"int *{_FAULT}"
    effects = function.effects if function is not None else None
    return Clone(
        name=name,
        text=f"static inline {definition.returns} {name}({parameters})\n{{\n{body}}}\n",
        fails=fails,
        calls=frozenset((called - own).union(*(c.calls for c in callees.values()))),
        loops=itself or effects is None or effects.loops or any(c.loops for c in callees.values()),
        pure=not _stores_to_module(function) and all(c.pure for c in callees.values()),
        size=len(words) + sum(c.size for c in callees.values()),
        recursive=itself,
    )


def _needs_python(word: str) -> bool:
    """Whether a word of C names something of Python's, or does what no clone can."""
    if word in _LEAVING or word.startswith(_PYTHON):
        return True
    return word.startswith("Py") and (word[2:3] == "_" or word[2:3].isupper()) and word not in _PYTHON_NUMBERS


def _is_arithmetic(name: str) -> bool:
    return name.startswith(_ARITHMETIC) or (name.startswith("__pyx_t_") and name.endswith("_from_parts"))


def _rename_calls(body: str, name: str, by: str, *, fails: bool) -> str:
    """Calls of a clone in place of its original, with the flag handed on."""
    parts, at = [], 0
    for m in re.finditer(rf"\b{name}\(", body):
        if m.start() < at:
            continue
        end = _find_closing(body, m.end() - 1)
        inner = _rename_calls(body[m.end() : end], name, by, fails=fails)
        arguments = ", ".join(filter(None, (inner, _FAULT if fails else "")))
        parts += [body[at : m.start()], f"{by}({arguments})"]
        at = end + 1
    return "".join([*parts, body[at:]])


# ------------------------------------------------------------------------------ in place of raising


def _replace_raising(body: str, *, past: bool) -> str:
    """``body`` with a flag in the place of each block that ends in an exception."""
    body = _replace_blocks(body, past=past)
    body = _AFTER_CALL.sub("" if past else rf"if (*{_FAULT}) goto \1;", body)

    def leave(m: re.Match[str]) -> str:
        _, result, value = m["code"].partition("__pyx_r = ")
        value = f"{result}{value.partition(';')[0]};" if result else ""
        return f"__pyx_L1_error:; *{_FAULT} = 1; {value}\n{m['end']}"

    if "__pyx_L1_error" in body:
        used = "goto __pyx_L1_error;" in body
        body = _ERROR_EXIT.sub(leave if used else (lambda m: m["end"]), body)
    return body


def _replace_blocks(body: str, *, past: bool) -> str:
    """Each outermost block that cannot end but in an exception, as ``{ the flag, and out }``."""
    parts, at = [], 0
    while (start := body.find("{", at)) >= 0:
        end = _find_closing(body, start)
        inside = body[start + 1 : end]
        jump = _UNCONDITIONAL.search(inside)
        label = jump[1] if jump else ""
        if inside.lstrip().startswith(_GIL_BLOCK) and "__PYX_ERR" in inside:
            label = "__pyx_L1_error"
        # Any other label is that of a `try` of the cell's own.
        if label == "__pyx_L1_error" and not re.search(r"\breturn\b|goto (?!__pyx_L\w*error)", inside):
            inner = f" *{_FAULT} = 1; " if past else f" *{_FAULT} = 1; goto {label}; "
        else:
            inner = _replace_blocks(inside, past=past)
        parts += [body[at : start + 1], inner, "}"]
        at = end + 1
    return "".join([*parts, body[at:]])


def _may_go_past(function: CyFunction | None) -> bool:
    """Whether the rest may be computed though an exception is due: only plain arithmetic of floating-point numbers.

    Without a jump out of it, a loop over the function can be vectorized.  An index or an integer division that the
    exception guards must not be reached.
    """
    if function is None or function.body is None:
        return False
    return all(kind.kind == "f" for kind in function.body.returns) and all(
        map(_is_plain, _walk_without_raising(function.body))
    )


def _walk_without_raising(function: ir.FunctionIR) -> Iterator[ir.Node]:
    """The nodes of a function without those of exceptions."""
    waiting: list[ir.Node] = [function.body, *(ir.Name(symbol.type, symbol) for symbol in function.parameters)]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ir.Raise | ir.DynamicStatement) or not _is_raise(node):
            yield node
            waiting += ir.list_children(node)


def _is_raise(node: ir.Raise | ir.DynamicStatement) -> bool:
    return isinstance(node, ir.Raise) or node.template.startswith("raise")


def _is_plain(node: ir.Node) -> bool:
    match node:
        case ir.Name(symbol=symbol) | ir.Declare(symbol=symbol):
            return symbol.type.kind == "f"
        case ir.Convert(type=t):
            return t.kind == "f"
        case ir.Binary(op=op, type=t):
            return t.kind in "fb" and op != "%"
        case ir.FunctionCall(target=target, type=t):
            return target in ("cell", "library") and t.kind == "f"
        case ir.Expression():
            return isinstance(node, ir.Constant | ir.Unary | ir.Logical | ir.Conditional | ir.Assignment | ir.Current)
    return isinstance(node, ir.Block | ir.If | ir.Evaluate | ir.Return | ir.Assert | ir.ParallelAssignment)


def _stores_to_module(function: CyFunction | None) -> bool:
    """Whether a function changes a variable of the module; one that could not be lowered may."""
    if function is None or function.body is None:
        return True
    for node in ir.walk(function.body.body):
        symbols: Collection[ir.Symbol | None] = ()
        if isinstance(node, ir.Assignment):
            symbols = [root.symbol for root in ir.place_roots(node.place)]
        elif isinstance(node, ir.OpaqueStatement):
            symbols = node.writes
        if any(symbol is not None and symbol.storage == "global" for symbol in symbols):
            return True
    return False
