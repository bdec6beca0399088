"""Copies of the cell's C functions that need no Python: what the vectorized loops call.

In the C that Cython writes, most functions of numbers touch Python only where they raise.  A copy has, in the
place of each such block, a flag that it sets; the loop computes a block of elements without the GIL, and
where the flag is set the block is computed once more by the function itself, which then raises.  Only a text
in which every call is known to be harmless is copied; the rest runs with the GIL.  Pure text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass

__all__ = ["Copy", "Definition", "copies", "definitions", "user_part"]

#: Name of the parameter that a copy sets where it would raise.
_FAULT = "__ufm_fault"

_HEAD = re.compile(r"^static (?P<head>[^\n;{}=]*?)(?P<name>__pyx_\w+)\((?P<params>[^\n]*)\) \{\n", re.M)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_UNCONDITIONAL = re.compile(r"(?:^|\n)[ \t]*__PYX_ERR\(\d+, \d+, (__pyx_L\w+)\)\s*$")
#: Cython's way to keep the condition of an assert that is compiled out free of warnings.
_NO_ASSERT = re.compile(r"#else\s*if \(\(1\)\); else __PYX_ERR\([^)]*\)\s*\n")
_GIL_BLOCK = re.compile(r"\s*PyGILState_STATE __pyx_gilstate_save = ")
_AFTER_CALL = re.compile(
    r"if \(unlikely\([^;{}]*?(?:PyErr_Occurred|__Pyx_ErrOccurredWithGIL)\(\)\)+ __PYX_ERR\(\d+, \d+, (__pyx_L\w+)\)"
)
_ERROR_EXIT = re.compile(r"__pyx_L1_error:;(?P<code>.*?)(?P<end>__pyx_L0:;|\Z)", re.S)
#: Declarations and marks that serve only what a copy has not.
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
#: What Cython itself calls of libm and stdlib.
_LIBM = frozenset(
    "pow powf powl fabs fabsf fabsl fmod fmodf fmodl floor floorf floorl abs labs llabs cpow cpowf cpowl sqrt sqrtf "
    "cabs cabsf hypot".split()
)
_PYTHON = re.compile(
    r"\bPy(?!_ssize_t\b|_intptr_t\b)[A-Z_]\w*|\b__pyx_mstate\w*|\b__pyx_(?:n|kp|k|codeobj)_\w+|\b__pyx_builtin\w*"
)
_POINTER_CALL = re.compile(r"\(\*+\s*__pyx_\w+\)\s*\(|->__pyx_vtab|\btry\b|\bcatch\b|#pragma")


@dataclass(frozen=True)
class Definition:
    """One function as Cython wrote it: what it returns, its parameters and its body, without the outer braces."""

    name: str
    returns: str
    parameters: str
    body: str


@dataclass(frozen=True)
class Copy:
    """One copy.

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
        Words in it and in what it calls.
    """

    name: str
    text: str
    fails: bool
    calls: frozenset[str]
    loops: bool
    pure: bool
    size: int
    recursive: bool = False


def user_part(c: str, *, name: str) -> tuple[int, int]:
    """Where in Cython's C the code of the cell ``name`` stands: from its first function to the last."""
    start = c.index("/* #### Code section: module_code ### */")
    end = c.index("/* #### Code section: module_exttypes ### */", start)
    first = c.find(f'/* "{name}":', start, end)
    return (first, end) if first >= 0 else (end, end)


def definitions(c: str, *, name: str) -> dict[str, Definition]:
    """The functions of the cell by C name."""
    start, end = user_part(c, name=name)
    found = {}
    for m in _HEAD.finditer(c, start, end):
        returns = re.sub(r"\b(?:CYTHON_INLINE|CYTHON_UNUSED|inline)\b", "", m["head"]).strip()
        body = _COMMENT.sub("", c[m.end() : _end(c, m.end())])
        found[m["name"]] = Definition(m["name"], returns, m["params"], body)
    return found


def _end(c: str, start: int) -> int:
    """Where the body that begins at ``start`` ends; a brace at the start of a line may be an inner one's."""
    depth, at = 1, start
    for m in re.finditer(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[{}]', c[start:], re.S):
        depth += {"{": 1, "}": -1}.get(m[0], 0)
        at = start + m.start()
        if depth == 0:
            break
    return at


def copies(
    defined: Mapping[str, Definition], wanted: Iterable[str], *, free: frozenset[str], module: str
) -> dict[str, Copy]:
    """A copy of each function of ``wanted`` that can have one, and of the functions that those call.

    Parameters
    ----------
    defined : mapping
        What `definitions` found.
    wanted : iterable of str
        C names.
    free : frozenset of str
        C functions that may be called without the GIL.
    module : str
        The module's name: its variables have it in theirs.

    Returns
    -------
    dict
        In an order in which none calls a later one.
    """
    made: dict[str, Copy] = {}
    refused: set[str] = set()
    written_to = re.compile(rf"\b__pyx_v_\d+{re.escape(module)}_\w+(?:\.\w+|\[[^\]]*\])*\s*=[^=]")

    def make(name: str, above: tuple[str, ...]) -> bool:
        if name in made:
            return True
        if name in refused or name in above or name not in defined:
            return False
        copy = _copy(defined[name], lambda other: make(other, (*above, name)), made, defined.keys(), free, written_to)
        if copy is None:
            refused.add(name)
            return False
        made[name] = copy
        return True

    for name in wanted:
        make(name, ())
    return made


def _copy(
    definition: Definition,
    make: Callable[[str], bool],
    made: Mapping[str, Copy],
    defined: Set[str],
    free: frozenset[str],
    written_to: re.Pattern[str],
) -> Copy | None:
    """The copy of one function, or None where it needs Python."""
    body = _IDLE.sub("", _NO_ASSERT.sub("", definition.body))
    # What is gone already, an index into the arguments of an exception, say, is no obstacle.
    past = _may_go_past(definition, _without_raising(body, past=False))
    body = _without_raising(body, past=past)
    parameters = re.sub(r"\bCYTHON_UNUSED\b ?|\bCYTHON_NCP_UNUSED\b ?", "", definition.parameters)
    if _PYTHON.search(body) or "__PYX_ERR" in body or _POINTER_CALL.search(body) or "PyObject" in parameters:
        return None
    called = set(_CALL.findall(body)) - _WORDS
    own = {name for name in called if name.startswith(("__pyx_f_", "__pyx_fuse_"))} & defined
    strange = {n for n in called - own if n not in free and n not in _LIBM and not _ARITHMETIC.fullmatch(n)}
    itself = definition.name in own
    own.discard(definition.name)
    if strange or not all(make(name) for name in sorted(own)):
        return None
    callees = {name: made[name] for name in own}
    fails = _FAULT in body or any(c.fails for c in callees.values())
    name = definition.name.replace("__pyx_", "__ufm_copy_", 1)
    for called_name, copy in callees.items():
        body = _renamed_call(body, called_name, copy.name, fails=copy.fails)
    if itself:
        body = _renamed_call(body, definition.name, name, fails=fails)
    if fails:
        parameters = f"{parameters}, int *{_FAULT}" if parameters != "void" else f"int *{_FAULT}"
    inner = re.compile(r"\b(?:for|while) \(")
    return Copy(
        name=name,
        text=f"static inline {definition.returns} {name}({parameters})\n{{\n{body}}}\n",
        fails=fails,
        calls=frozenset((called - own).union(*(c.calls for c in callees.values()))),
        loops=itself or bool(inner.search(body)) or any(c.loops for c in callees.values()),
        pure=not written_to.search(body) and all(c.pure for c in callees.values()),
        size=len(re.findall(r"\w+", body)) + sum(c.size for c in callees.values()),
        recursive=itself,
    )


def _renamed_call(body: str, name: str, by: str, *, fails: bool) -> str:
    """Calls of a copy in place of its original, with the flag handed on."""
    parts, at = [], 0
    for m in re.finditer(rf"\b{name}\(", body):
        if m.start() < at:
            continue
        end = _closing(body, m.end() - 1)
        inner = _renamed_call(body[m.end() : end], name, by, fails=fails)
        given = ", ".join(filter(None, (inner, _FAULT if fails else "")))
        parts += [body[at : m.start()], f"{by}({given})"]
        at = end + 1
    return "".join([*parts, body[at:]])


def _closing(text: str, start: int) -> int:
    """Where the parenthesis at ``start`` is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


# ------------------------------------------------------------------------------ in place of raising


def _without_raising(body: str, *, past: bool) -> str:
    """``body`` with a flag in the place of each block that ends in an exception."""
    body = _blocks(body, past=past)
    body = _AFTER_CALL.sub("" if past else rf"if (*{_FAULT}) goto \1;", body)

    def leave(m: re.Match[str]) -> str:
        value = re.search(r"__pyx_r = [^;]*;", m["code"])
        return f"__pyx_L1_error:; *{_FAULT} = 1; {value[0] if value else ''}\n{m['end']}"

    if "__pyx_L1_error" in body:
        used = len(re.findall(r"goto __pyx_L1_error;", body))
        body = _ERROR_EXIT.sub(leave if used else (lambda m: m["end"]), body)
    return body


def _blocks(body: str, *, past: bool) -> str:
    """Each outermost block that cannot end but in an exception, as ``{ the flag, and out }``."""
    parts, at = [], 0
    for m in re.finditer(r"\{", body):
        if m.start() < at:
            continue
        end = _brace(body, m.start())
        inside = body[m.end() : end]
        found = _UNCONDITIONAL.search(inside)
        label = found[1] if found else ""
        if _GIL_BLOCK.match(inside) and "__PYX_ERR" in inside:
            label = "__pyx_L1_error"
        # Any other label is that of a `try` of the cell's own.
        if label == "__pyx_L1_error" and not re.search(r"\breturn\b|goto (?!__pyx_L\w*error)", inside):
            inner = f" *{_FAULT} = 1; " if past else f" *{_FAULT} = 1; goto {label}; "
        else:
            inner = _blocks(inside, past=past)
        parts += [body[at : m.end()], inner, "}"]
        at = end + 1
    return "".join([*parts, body[at:]])


def _brace(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def _may_go_past(definition: Definition, body: str) -> bool:
    """Whether the rest may be computed though an exception is due: only plain arithmetic of floating-point numbers.

    Without a jump out of it, a loop over the function can be vectorized.  An index or an integer division
    that was guarded by the exception must not be reached.
    """
    if re.search(
        r"\b(?:for|while|do|switch)\b|\[|->|\(\*|__Pyx_(?:div|mod)_|%|\((?:int|long|short|char|Py_ssize_t|size_t)\)",
        body,
    ):
        return False
    types = set(re.findall(r"^[ \t]*([A-Za-z_][\w ]*?) \**__pyx_[vr]_?\w*(?: = [^;]*)?;", body, re.M))
    given = [p.replace("CYTHON_UNUSED ", "") for p in definition.parameters.split(", ")]
    # What Cython adds to the parameters of a cpdef function.
    types |= {p.rsplit(" ", 1)[0] for p in given if " " in p and p != "int __pyx_skip_dispatch"}
    return types <= {"double", "float", "long double", "return"}
