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

#: Name of the parameter that a clone sets where it would raise.
_FAULT = "__ufm_fault"

_HEAD = re.compile(r"^static (?P<head>[^\n;{}=]*?)(?P<name>__pyx_\w+)\((?P<params>[^\n]*)\) \{\n", re.M)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_UNCONDITIONAL = re.compile(r"(?:^|\n)[ \t]*__PYX_ERR\(\d+, \d+, (__pyx_L\w+)\)\s*$")
#: Cython's way to keep the condition of an assert that is compiled out free of warnings.
_NO_ASSERT = re.compile(r"#else\s*if \(\(1\)\); else __PYX_ERR\([^)]*\)\s*\n")
#: The last two operands of ``and``, or of ``or``.
_BOOLEANS = re.compile(
    r"(?P<one>__pyx_t_\d+) = (?P<left>\([^;{}]*\));\s*if \((?P<not>!?)(?P=one)\) \{\s*\} else \{\s*"
    r"(?P<both>__pyx_t_\d+) = (?P=one);\s*goto (?P<done>__pyx_L\d+_bool_binop_done);\s*\}\s*"
    r"(?P=one) = (?P<right>\([^;{}]*\));(?P<end>\s*(?P=both) = (?P=one);\s*(?P=done):;)"
)
#: Operands that may be computed whatever the left operand is: no call, division, index or pointer.
_UNGUARDED = re.compile(r"(?:[\w .+<=!|&)]|-(?!>)|>|(?<!\()\*|(?<!\w)\()*")
_GIL_BLOCK = re.compile(r"\s*PyGILState_STATE __pyx_gilstate_save = ")
_AFTER_CALL = re.compile(
    r"if \(unlikely\([^;{}]*?(?:(?:PyErr_Occurred|__Pyx_ErrOccurredWithGIL)\(\)|== \(\([a-z ]+\)-?[\w.]+\))\)+ "
    r"__PYX_ERR\(\d+, \d+, (__pyx_L\w+)\)"
)
#: Cython takes C's abs() for a function that gives -1 for an exception.
_ABS_CHECK = re.compile(
    r"(?P<call>(?P<value>__pyx_t_\d+) = (?:l?abs|__Pyx_abs_longlong)\([^;]*\); )"
    r"if \(unlikely\((?P=value) == \(\([a-z ]+\)-1\)\)\) __PYX_ERR\([^()]*\)"
)
#: A power of doubles that must not be complex: the text before its base, between base and exponent, and after it.
_NOT_COMPLEX = "__Pyx_SoftComplexToDouble(__Pyx_c_pow_double("
_PARTS = r"__pyx_t_double_complex_from_parts\("
_POWER = (
    re.compile(rf"(__pyx_t_\d+) = __Pyx_SoftComplexToDouble\(__Pyx_c_pow_double\({_PARTS}"),
    re.compile(rf"\), {_PARTS}"),
    re.compile(r"\)\), \d\); if \(unlikely\(\w+ == \(\(double\)-1\) && \w+\(\)\)\) (__PYX_ERR\([^()]*\))"),
)
#: The same where it is computed once more, as `use_real_powers` writes it.
_POWER_AGAIN = re.compile(
    r"\{ __pyx_t_\d+ = __Pyx_SoftComplexToDouble\([^;{}]*__ufm_b, 0[^;{}]*; if [^;{}]*(__PYX_ERR\([^()]*\)) \}"
)
_ERROR_EXIT = re.compile(r"__pyx_L1_error:;(?P<code>.*?)(?P<end>__pyx_L0:;|\Z)", re.S)
#: Declarations and marks that a clone does not need.
_IDLE = re.compile(
    r"^[ \t]*(?:PyObject \*__pyx_\w+ = NULL;|int __pyx_(?:lineno|clineno) = 0;|const char \*__pyx_filename = NULL;|"
    r"PyGILState_STATE __pyx_gilstate_save;|__Pyx_RefNanny\w+(?:\([^;]*\))?;?|__Pyx_TraceDeclarations\w*|"
    r"size_t __pyx_t_\d+;|#(?:ifdef|if|endif|ifndef)[^\n]*)[ \t]*\n",
    re.M,
)
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_WORDS = frozenset("if for while switch return sizeof likely unlikely do else defined".split())
#: Cython's own helpers that are arithmetic and nothing else.
_ARITHMETIC = re.compile(
    r"__Pyx_(?:pow|div|mod|abs|c)_\w+|__Pyx_C(?:REAL|IMAG)\w*|__Pyx_SET_C(?:REAL|IMAG)\w*|__pyx_t_\w+_from_parts|"
    r"__Pyx_UNARY_\w+|__PYX_NAN|__pyx_assertions_enabled|__PYX_(?:INC|XCLEAR)_MEMVIEW"
)
_PYTHON = re.compile(
    r"\bPy(?!_ssize_t\b|_intptr_t\b)[A-Z_]\w*|\b__pyx_mstate\w*|\b__pyx_(?:n|kp|k|codeobj)_\w+|\b__pyx_builtin\w*"
)
_POINTER_CALL = re.compile(r"\(\*+\s*__pyx_\w+\)\s*\(|->__pyx_vtab|\btry\b|\bcatch\b|#pragma")


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


def use_real_powers(c: str, *, prefix: str) -> str:
    """Cython's C with C's own ``pow`` in functions whose name has ``prefix``, and Cython's where that is a NaN.

    Cython computes a power that must not be complex as a complex number, which is slower and less exact.
    """
    parts, at = [], 0
    for head in _HEAD.finditer(c) if prefix in c and _NOT_COMPLEX in c else ():
        if prefix not in head["name"]:
            continue
        for m in _POWER[0].finditer(c, head.end(), _find_closing(c, head.end() - 2)):
            end = _find_closing(c, m.end() - 1)
            between = _POWER[1].match(c, end)
            last = _find_closing(c, between.end() - 1) if between else 0
            after = _POWER[2].match(c, last) if between else None
            base, exponent = c[m.end() : end], c[between.end() : last] if between else ""
            if not after or not base.endswith(", 0") or not exponent.endswith(", 0"):
                continue
            numbers = f"double __ufm_b = {base[:-3]}, __ufm_e = {exponent[:-3]};"
            complex_ = f"{m[1]} != {m[1]} && __ufm_b == __ufm_b && __ufm_e == __ufm_e"
            words = f"{m[0]}__ufm_b, 0{between[0]}__ufm_e, 0{after[0]}" if between else ""
            new = f"{{ {numbers} {m[1]} = pow(__ufm_b, __ufm_e); if ({complex_}) {{ {words} }} }}"
            parts += [c[at : m.start()], new]
            at = after.end()
    return "".join([*parts, c[at:]])


def find_definitions(c: str, *, name: str) -> dict[str, Definition]:
    """The functions of the cell by C name."""
    if CODE_SECTION not in c or TYPES_SECTION not in c:
        raise describe_unknown_cython("its C has no section of the module's code")
    defined = {}
    for m in _HEAD.finditer(c, *find_user_part(c, name=name)):
        returns = re.sub(r"\b(?:CYTHON_INLINE|CYTHON_UNUSED|inline)\b", "", m["head"]).strip()
        body = _COMMENT.sub("", c[m.end() : _find_closing(c, m.end() - 2)])
        defined[m["name"]] = Definition(m["name"], returns, m["params"], body)
    return defined


_TEXT = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
_BRACKETS = {"{": re.compile(_TEXT + "[{}]", re.S), "(": re.compile(_TEXT + "[()]", re.S)}


def _find_closing(text: str, start: int) -> int:
    """Where the bracket at ``start`` is closed; those in comments and strings do not count."""
    depth = 0
    for m in _BRACKETS[text[start]].finditer(text, start):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(m[0], 0)
        if depth == 0:
            return m.start()
    return len(text)


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
    refused: set[str] = set()
    by_name = {function.cname: function for function in functions if function.cname}

    def make(name: str, above: tuple[str, ...]) -> bool:
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
    body = _ABS_CHECK.sub(r"\g<call>", _POWER_AGAIN.sub(r"{ \1 }", definition.body))
    body = _join_booleans(_IDLE.sub("", _NO_ASSERT.sub("", body)))
    past = _may_go_past(function)
    body = _replace_raising(body, past=past)
    parameters = re.sub(r"\bCYTHON_UNUSED\b ?|\bCYTHON_NCP_UNUSED\b ?", "", definition.parameters)
    if _PYTHON.search(body) or "__PYX_ERR" in body or _POINTER_CALL.search(body) or "PyObject" in parameters:
        return None
    called = set(_CALL.findall(body)) - _WORDS
    own = {name for name in called if name.startswith(("__pyx_f_", "__pyx_fuse_"))} & defined
    strange = {n for n in called - own if n not in free and not _ARITHMETIC.fullmatch(n)}
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
        size=len(re.findall(r"\w+", body)) + sum(c.size for c in callees.values()),
        recursive=itself,
    )


def _join_booleans(body: str) -> str:
    """``body`` with C's operators between comparisons: gcc vectorizes no loop with jumps past them.

    Nor one with more than two of ``&&``, so it is ``&`` where that is as good.
    """

    def joined(m: re.Match[str]) -> str:
        if not (_is_truth(m["left"]) and _is_truth(m["right"])):
            return m[0]
        word = "|" if m["not"] else "&"
        if _UNGUARDED.fullmatch(m["right"]):
            return f"{m['one']} = (({m['left']} {word} {m['right']}) != 0);{m['end']}"
        return f"{m['one']} = ({m['left']} {2 * word} {m['right']});{m['end']}"

    before = ""
    while before != body:  # the operands before the last two
        before, body = body, _BOOLEANS.sub(joined, body)
    return body


def _is_truth(expression: str) -> bool:
    """Whether an expression in parentheses is 0 or 1, and not one of the operands itself."""
    inner = expression[1:-1]
    while inner != (inner := re.sub(r"\([^()]*\)", "", inner)):
        pass
    return re.fullmatch(r"[^()]* (?:[<>]=?|[!=]=|&&|\|\|) [^()]*", inner) is not None


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
        value = re.search(r"__pyx_r = [^;]*;", m["code"])
        return f"__pyx_L1_error:; *{_FAULT} = 1; {value[0] if value else ''}\n{m['end']}"

    if "__pyx_L1_error" in body:
        used = len(re.findall(r"goto __pyx_L1_error;", body))
        body = _ERROR_EXIT.sub(leave if used else (lambda m: m["end"]), body)
    return body


def _replace_blocks(body: str, *, past: bool) -> str:
    """Each outermost block that cannot end but in an exception, as ``{ the flag, and out }``."""
    parts, at = [], 0
    for m in re.finditer(r"\{", body):
        if m.start() < at:
            continue
        end = _find_closing(body, m.start())
        inside = body[m.end() : end]
        jump = _UNCONDITIONAL.search(inside)
        label = jump[1] if jump else ""
        if _GIL_BLOCK.match(inside) and "__PYX_ERR" in inside:
            label = "__pyx_L1_error"
        # Any other label is that of a `try` of the cell's own.
        if label == "__pyx_L1_error" and not re.search(r"\breturn\b|goto (?!__pyx_L\w*error)", inside):
            inner = f" *{_FAULT} = 1; " if past else f" *{_FAULT} = 1; goto {label}; "
        else:
            inner = _replace_blocks(inside, past=past)
        parts += [body[at : m.end()], inner, "}"]
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
            waiting += ir.children(node)


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
