"""Signatures to loops: writes the one translation unit that a cell is compiled in.  Pure text.

The unit is: interface, ``#line 1 "In[3]"``, the cell exactly as it is, support, SIMD declarations, one
kernel per signature and type, and three tables.  What does not depend on the cell is the driver, a unit of
its own (:func:`write_driver`).  ``templates/`` holds the C; this module fills its ``$`` words.  Which NumPy types
a loop has, the compiler writes into a byte table that follows a marker; they are read back from the object's
bytes by :func:`read_types`, so that nothing need be run.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from ..ir import count_arguments, is_float_function
from ..model import STD_EXCEPTIONS, Function, NumberType, Options, Signature, SignatureError, Unit, number_type
from . import record_layout
from .float_conversions import FloatConversions, find_conversions
from .loop_types import INSTRUCTIONS, NO_VECTORS, Instance, VectorMath, type_numbers, type_text
from .loops import fill, has_scalar, has_sizes, is_leaf, leaf_text, loop_text, template
from .plain_calls import Exports
from .process_calls import find_process_calls, write_process_calls

PREFIX = "__ufm_"
#: A macro of units: whether loop ``k`` is compiled.
_HAS_LOOP = "__UFM_HAS_LOOP"
#: A macro of units: the attributes of the functions that loops spend their time in.
_LISTED = "__UFM_LISTED"
_MARKER = b"\x7fufm-types:"

_LOOP = "__ufm_char **, const __ufm_intp *, const __ufm_intp *, void *"
_SIZES = "void *, __ufm_intp *"

#: Syntax nodes that the loops of a function count for in addition to its own, and nodes of a part: 0.2 s of gcc.
_LOOP_NODES, _PART_NODES = 100, 1000
_MOST_PARTS = 32


@dataclass(frozen=True)
class Translation:
    """A translation unit and what it will export.

    ``instances`` are in the order of the ``__ufm_loops`` table, ``plain`` (C names) in that of
    ``__ufm_functions``; ``marker`` precedes the loops' type numbers in the object's bytes.
    """

    text: str
    instances: tuple[Instance, ...]
    plain: tuple[str, ...]
    marker: bytes
    parallel: bool

    @property
    def parts(self) -> int:
        """In how many parts compiling it on several processors pays; 0 where one processor will do.

        It depends on the cell alone, so that every machine makes the same object of it.
        """
        much = sum(_LOOP_NODES + i.signature.function.body.size for i in self.instances) // _PART_NODES
        if not much or len(self.instances) < 2:
            return 0
        # The same number on every machine.
        return min(max(2, 1 << much.bit_length() - 1), _MOST_PARTS)


def choose_types(words: str) -> tuple[NumberType, ...]:
    """The types that ``--types`` names, narrow to wide, without repeats.

    Raises
    ------
    SignatureError
        For a word that names no type NumPy and C share.
    """
    types: dict[int, NumberType] = {}
    for word in filter(None, re.split(r"[,\s]+", words)):
        kind = number_type(word)
        if kind is None:
            raise SignatureError(
                f"--types: {word!r} is not a number type.",
                remedy="Use NumPy's short names, for example --types f4,f8,i4,c16.",
            )
        types[kind.number] = kind
    return tuple(sorted(types.values(), key=lambda t: t.rank))


def translate(
    cell: str,
    *,
    unit: Unit,
    signatures: Sequence[Signature],
    exports: Exports,
    options: Options,
    name: str,
    math: VectorMath = NO_VECTORS,
    before: str = "",
) -> Translation:
    """Write the translation unit of a cell.

    Parameters
    ----------
    cell : str
        The cell as typed.
    unit : Unit
        The functions and names that the parser read in the cell.
    signatures : sequence of Signature
        The functions to make loops for; several of one name are overloads.
    exports : Exports
        Functions that are exported as they are.
    options : Options
    name : str
        Name of the cell in diagnostics (``"In[3]"``).
    math : VectorMath
    before : str
        C++ text to put before the cell.
    """
    cplus = options.cplus
    conversions = find_conversions(unit, options=options)
    loops = [
        replace(loop, conversions=conversions.write_attribute(loop.signature.function))
        for loop in make_instances(signatures, unit, options=options)
    ]
    # Before the cell, whose macros would rewrite it.
    parts = [template("interface.h"), *filter(None, [write_process_calls(find_process_calls(unit)), before])]
    kinds = choose_types(options.types) if uses_t(unit) else ()  # a kernel alone may be in terms of T
    copies = dict.fromkeys((make_prefix(kind), kind) for kind in kinds)
    cell += inline_definitions(unit, cplus=cplus)
    if copies:
        generic = not before  # that text has its own
        parts += [copy(cell, prefix=p, kind=k, unit=unit, name=name, generic=generic) for p, k in copies]
    else:
        parts += [f"#line 1 {quote_c(name)}", cell]
    parts += ["", template("support.h"), template("types.hpp" if cplus else "types.h")]
    parts += conversions.write_declarations(unit)
    parts += [*_declare_simd(math.functions, cplus=cplus), *_define_complex_functions(math.complex)]
    parts += filter(None, [exports.text])
    return _make_translation(parts, loops, [cell, name], exports=exports, options=options, math=math)


def inline_definitions(unit: Unit, *, cplus: bool) -> str:
    """C text that has the compiler write out the ``inline`` functions of C99, which it may call or inline (6.7.4)."""
    names = [f.name for f in unit.functions if "inline" in f.qualifiers and not (f.static or cplus)]
    return "".join(f"\nextern __typeof__({name}) {name};" for name in names)


def append(
    c: str,
    functions: str,
    instances: Sequence[Instance],
    *,
    options: Options,
    math: VectorMath = NO_VECTORS,
    seed: str = "",
) -> Translation:
    """Append loops to a translation unit that another compiler wrote.

    Parameters
    ----------
    c : str
        The unit.
    functions : str
        C text to put before the loops: functions that they call.
    instances : sequence of Instance
        Whose functions are in ``c`` or in ``functions``.
    options, math
        As for `translate`.
    seed : str
        Text that makes the marker of the type table unique.
    """
    cplus = options.cplus
    parts = [c, template("interface.h"), template("support.h")]
    parts += [
        template("types.hpp" if cplus else "types.h"),
        *_declare_simd(math.functions, cplus=cplus),
        functions,
    ]
    whole = FloatConversions(whole=True)
    instances = [replace(i, conversions=whole.write_attribute(i.signature.function)) for i in instances]
    return _make_translation(parts, instances, [c, functions, seed], exports=Exports(), options=options, math=math)


def _make_translation(
    parts: Sequence[str],
    instances: Sequence[Instance],
    seed: Sequence[str],
    *,
    exports: Exports,
    options: Options,
    math: VectorMath,
) -> Translation:
    """The unit of these texts and of types, loops and tables; ``seed`` makes the marker its own."""
    marker = _MARKER + hashlib.sha256("\0".join([*seed, repr(options.make_key())]).encode()).digest()[:16]
    numbers = [*map(str, marker)]
    types, loops, leaves = [], [], []
    for k, instance in enumerate(instances):
        types.append(type_text(k, instance))
        loop = loop_text(k, instance, offset=len(numbers), options=options, math=math)
        leaf = leaf_text(k, instance) if is_leaf(instance) else ""
        if len(instances) > 1:
            loop, leaf = _write_optional(k, instance, loop), leaf and f"#if {_HAS_LOOP}({k})\n{leaf}\n#endif"
        loops.append(loop)
        leaves.append(leaf)
        numbers += type_numbers(k, instance)
    # The types of the loops, as the compiler knows them, after a marker that is searched in the object's bytes.
    table = f"__attribute__((__used__)) static const __ufm_byte __ufm_types[] = {{{', '.join(numbers)}}};\n"

    if len(instances) > 1:
        loops.insert(0, f"#ifndef {_HAS_LOOP}\n#define {_HAS_LOOP}(k) 1\n#endif")
    small = [leaf for leaf in leaves if leaf]
    small = ["#ifdef __UFM_LEAF", *small, "#endif"] if small else []
    text = "\n".join([*parts, *types, table, *loops, *small, _export(instances, exports)]) + "\n"
    return Translation(text, tuple(instances), tuple(exports.pointers), marker, bool(options.parallel))


def show_only(loops: Collection[int]) -> tuple[str, str]:
    """The compiler's arguments that leave all loops but these out of a unit of several, and keep what they compute."""
    places = " || ".join(f"k == {k}" for k in sorted(loops)) or "0"
    return f"-D{_HAS_LOOP}(k)=({places})", f"-D{_LISTED}=__attribute__((__used__))"


def _write_optional(k: int, instance: Instance, text: str) -> str:
    """The text of a loop, and zeros for the tables where `show_only` asks for other loops."""
    exported = {"loop": True, "scalar": has_scalar(instance), "leaf": is_leaf(instance), "sizes": has_sizes(instance)}
    exported["record"] = instance.signature.has_records
    zeros = [f"#define {PREFIX}{name}_{k} 0" for name, has in exported.items() if has]
    return "\n".join([f"#if {_HAS_LOOP}({k})", text, "#else", *zeros, "#endif"])


def uses_t(unit: Unit) -> bool:
    """The cell uses T without saying what it is."""
    defined = "T" in unit.typedefs or "T" in unit.macros or any("T" in f.template for f in unit.functions)
    return "T" in unit.identifiers and not defined


def write_driver() -> str:
    """The driver's translation unit, C; define UFM_PARALLEL for the threaded one, UFM_RECORDS and UFM_SIZES for
    structures and for sizes that no input has."""
    more = "".join(f'#line 1 "{name}"\n{template(name)}' for name in ("records.c", "narrowing.c", "sizes.c"))
    return insert_headers("driver.c") + more


def write_exceptions() -> str:
    """The unit, C++, by which exceptions become Python's."""
    kinds = list(dict.fromkeys(STD_EXCEPTIONS.values()))
    handlers = [
        f" catch (const std::{name} &e) {{ __ufm_fail_as(__ufm_exceptions[{kinds.index(kind)}], e.what()); }}"
        for name, kind in STD_EXCEPTIONS.items()
    ]
    return fill("exceptions.cpp", handlers="".join(handlers))


def insert_headers(file: str) -> str:
    """A template with the text of our own headers in place of their includes."""
    text = template(file)
    for name in ("interface.h", "containment.h", "frame.h", "access.h"):
        text = text.replace(f'#include "{name}"', f'#line 1 "{name}"\n{template(name)}\n#line 1 "{file}"')
    return text


def write_vector_math(function: str, *, machine: str) -> str:
    """The unit of our own vector versions of a function of libm, C; ``""`` where libmvec's are the better ones."""
    text = template("neonmath.h" if machine == "aarch64" else "simdmath.h")
    return f"#define __UFM_WANT_{function} 1\n{text}" if f"__UFM_WANT_{function}\n" in text else ""


def read_types(code: bytes, translation: Translation) -> tuple[tuple[int, ...], ...]:
    """NumPy type numbers of every loop's operands, read from the object's bytes."""
    return tuple(types for types, _ in _write_tables(code, translation))


def read_records(code: bytes, translation: Translation) -> dict[str, tuple[str, ...]]:
    """Return `FunctionCode.records` by name, for the functions that have structures."""
    loops = zip(translation.instances, _write_tables(code, translation), strict=True)
    return {i.signature.name: records for i, (_, records) in loops if any(records)}


def _write_tables(code: bytes, translation: Translation) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Types and structures of every loop.

    Raises
    ------
    SignatureError
        If the object holds no such table (its data was stripped).
    """
    at = code.find(translation.marker)
    if at < 0:
        raise SignatureError("The object code has no table of types.", remedy="Do not strip its data section.")
    at += len(translation.marker)
    loops = []
    for instance in translation.instances:
        operands = (*instance.signature.inputs, *instance.signature.outputs)
        types = _unify_long(code[at : at + len(operands)])
        at += len(operands)
        records = []
        for operand in operands:
            size = record_layout.count_layout_bytes(operand.record) if operand.record else 0
            layout, at = code[at : at + size], at + size
            records.append(
                record_layout.write_description(layout, operand.record, operand.type) if operand.record else ""
            )
        loops.append((types, tuple(records)))
    return loops


def _unify_long(numbers: Sequence[int]) -> tuple[int, ...]:
    """Use one number for ``long long`` and ``long`` if both occur and are the same: ``reduce`` needs one type."""
    twins = {9: 7, 10: 8} if struct.calcsize("l") == struct.calcsize("q") else {}
    return tuple(twins[n] if n in twins and twins[n] in numbers else n for n in numbers)


def make_instances(signatures: Sequence[Signature], unit: Unit, *, options: Options) -> tuple[Instance, ...]:
    """The loops of a cell: one for each signature, or of templates and cells in terms of T one for each type."""
    types = choose_types(options.types)
    loops_of_cell: list[Instance] = []
    looping = {f.name for f in unit.functions if f.body.loops}
    own = {f.name for f in unit.functions}
    for signature in signatures:
        calls = find_reached(signature.function, unit)
        loops = signature.function.body.loops or not looping.isdisjoint(calls)
        outside = {name for name in calls - own if name.removesuffix("f") not in calls - {name}}
        common = Instance(
            signature, calls=calls, loops=loops, leaf=signature.function.body.pure and outside <= INSTRUCTIONS
        )
        if signature.function.template:
            loops_of_cell += [replace(common, type=t) for t in types or choose_types(signature.function.body.instances)]
        elif types and uses_t(unit):
            loops_of_cell += [replace(common, type=t, copy=make_prefix(t), renamed=unit.names) for t in types]
        else:
            loops_of_cell.append(common)
    return tuple(loops_of_cell)


def make_prefix(kind: NumberType) -> str:
    """Return the prefix of names in the copy of a cell in terms of T for a type."""
    return f"{PREFIX}{kind.names[0] if kind.names else kind.char}_"


def find_reached(function: Function, unit: Unit) -> frozenset[str]:
    """Everything ``function`` calls, through the cell's own functions too; with T, float's variants as well."""
    names: set[str] = set()
    pending = set(function.body.calls)
    while pending:
        name = pending.pop()
        names.add(name)
        pending |= unit.calls_by_function.get(name, frozenset()) - names
    return frozenset(names | {f"{name}f" for name in names} | {name.rpartition("::")[2] for name in names})


def copy(cell: str, *, prefix: str, kind: NumberType, unit: Unit, name: str, generic: bool = True) -> str:
    """The cell once more with T defined and everything it declares at file scope renamed.

    With ``generic``, tgmath.h makes ``exp(T)`` the function of that type; its complex.h would define ``I``, which
    belongs to the cell.
    """
    tgmath = "" if "<tgmath.h>" in unit.includes or not generic else "#include <tgmath.h>\n"
    if tgmath and "<complex.h>" not in unit.includes and kind.kind != "c":
        tgmath += "#undef I\n"
    on = "".join(f"#define {word} {prefix}{word}\n" for word in unit.names)
    off = "".join(f"#undef {word}\n" for word in (*unit.names, *unit.macros, "T"))
    return f"{tgmath}#define T {kind.c}\n{on}#line 1 {quote_c(name)}\n{cell}\n{off}"


def _declare_simd(names: Sequence[str], *, cplus: bool) -> list[str]:
    """Prototypes that tell gcc of libmvec's variants.

    They follow the cell, which must include <math.h> itself: gcc joins them with its declarations.
    "const" is what makes gcc vectorize: it is true where errno and the FP environment play no part,
    which the caller has checked.
    """
    lines = []
    for name in names:
        kind = "float" if is_float_function(name) else "double"
        arguments = ", ".join([kind] * count_arguments(name))
        head, tail = ('extern "C" ', " noexcept(true)") if cplus else ("", "")
        attribute = '__attribute__((__simd__("notinbranch"), __nothrow__, __leaf__, __const__))'
        # The cell may have made a macro of the name.
        lines.append(f"#undef {name}\n{head}{attribute} {kind} {name}({arguments}){tail};")
    return lines


#: Constants of ``templates/complexmath.h``: for double and for float.
_COMPLEX = (
    {"real": "double", "f": "", "most": "709.0", "exp_of_most": "0x1.d422d2be5dc9bp+1022", "largest": "__DBL_MAX__",
     "large": "0x1p1020", "small": "0x1p-960", "up": "0x1p54"},
    {"real": "float", "f": "f", "most": "88.0f", "exp_of_most": "0x1.f1056e00p+126f", "largest": "__FLT_MAX__",
     "large": "0x1p124f", "small": "0x1p-100f", "up": "0x1p13f"},
)  # fmt: skip


def _define_complex_functions(names: Sequence[str]) -> list[str]:
    """Bodies of functions of complex numbers, which are inlined into loops."""
    lines = []
    for words in _COMPLEX:
        functions = [name.removesuffix("f") for name in names if name.endswith("f") == bool(words["f"])]
        if functions:
            lines += [f"#undef {name}{words['f']}\n#define __UFM_WANT_{name}" for name in functions]
            lines += ["#undef __UFM_INLINE\n#undef __UFM_SUM", fill("complexmath.h", **words)]
            lines += [f"#undef __UFM_WANT_{name}" for name in functions]
    return lines


def _export(instances: Sequence[Instance], exports: Exports) -> str:
    def entries(name: str, has: Callable[[Instance], bool]) -> str:
        return ", ".join(f"{name}_{k}" if has(i) else "0" for k, i in enumerate(instances)) or "0"

    tables = {
        f"void (*const __ufm_loops[])({_LOOP})": entries("__ufm_loop", lambda _: True),
        "void *const __ufm_functions[]": ", ".join(f"(void *){name}" for name in exports.pointers) or "0",
        "void *const __ufm_scalars[]": entries("(void *)__ufm_scalar", has_scalar),
    }
    if any(pointer != "0" for pointer in exports.contained):
        tables["void *const __ufm_plain_calls[]"] = ", ".join(f"(void *){name}" for name in exports.contained)
    if any(i.signature.has_records for i in instances):
        record = "void *, __ufm_char *const *, const __ufm_intp *, const __ufm_intp *, void *"
        tables[f"int (*const __ufm_records[])({record})"] = entries("__ufm_record", lambda i: i.signature.has_records)
    if any(map(has_sizes, instances)):
        tables[f"int (*const __ufm_sizes[])({_SIZES})"] = entries("__ufm_sizes", has_sizes)
    declared = "".join(f"extern __UFM_EXPORT {table};\n" for table in tables)
    defined = "\n".join(f"{table} = {{{places}}};" for table, places in tables.items())
    if any(map(is_leaf, instances)):
        table = "void *const __ufm_leaves[]"
        declared += f"#ifdef __UFM_LEAF\nextern __UFM_EXPORT {table};\n#endif\n"
        defined += f"\n#ifdef __UFM_LEAF\n{table} = {{{entries('(void *)__ufm_leaf', is_leaf)}}};\n#endif"
    return f"__UFM_BEGIN_C\n{declared}__UFM_END_C\n{defined}"


def quote_c(text: str) -> str:
    """``text`` as a C string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
