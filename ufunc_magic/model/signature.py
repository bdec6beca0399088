"""Parameters, functions and signatures: what a parser reads of a cell, and how NumPy sees it.  Pure values.

They are apart from the types, because a call, a worker or a cell from the cache needs none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from .number_types import find_core_names


@dataclass(frozen=True)
class Member:
    """One member of a structure: its type as written, the sizes of an array, and the members of a structure in it."""

    name: str
    type: str
    shape: tuple[int, ...] = ()
    members: tuple[Member, ...] = ()


class IndexUse(NamedTuple):
    """A function uses a value as an index: ``value * scale + shift`` stays below a length.

    Attributes
    ----------
    parameter : int
        Position of the array; with ``axis`` -1 of the integer that is the length; -1 where ``length`` is the length.
    length : int
    axis : int
        So many subscripts come before.
    scale, shift : int
    mixed : bool
        Other terms are added.
    row : bool
        The value is multiplied with something that is no constant: it counts rows.
    flat : bool
        The array has one subscript, however many dimensions its elements have.
    """

    parameter: int = -1
    length: int = 0
    axis: int = 0
    scale: int = 1
    shift: int = 0
    mixed: bool = False
    row: bool = False
    flat: bool = False


class ValueUse(NamedTuple):
    """How a function uses the value of a parameter, or the elements of an array.

    Attributes
    ----------
    indexes : tuple of IndexUse
    rising : bool
        The elements must be in rising order: they are searched, or differences of neighbours are divisors.
    within : tuple of int
        Positions of the arrays whose ends the value lies between.
    """

    indexes: tuple[IndexUse, ...] = ()
    rising: bool = False
    within: tuple[int, ...] = ()


_NO_USE = ValueUse()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a C function as it is declared, and how the body uses it.

    Attributes
    ----------
    name : str
        ``""`` where the declaration leaves it out.
    type : str
        Type of one element as written, without ``const``/``volatile``/``register``, pointer stars
        and brackets: ``"double"``, ``"unsigned int"``, ``"real"``, ``"struct point"``.
    const : bool
        The element (pointee) is const.
    pointer : int
        Levels of unsized indirection: 0 for a scalar, 1 for ``T *x`` and ``T x[]``.
    shape : tuple of int or str
        Sized dimensions, outermost first: ``double r[3][3]`` -> ``(3, 3)``, ``x[n]`` -> ``("n",)``.
    access : {"none", "read", "write", "update"}
        For pointers and arrays: what the body (and the functions of the cell it passes the pointer
        on to) does to the elements.  "update" means read before it was written.
    indexed : bool
        The body uses more than the first element: a subscript other than ``[0]``, pointer
        arithmetic.
    length : str
        Of an unsized pointer: the integer parameter that is the number of its elements, where the body shows that.
    dims : tuple of int or str
        Of a pointer, the dimensions that its indices suggest: ``("n", "m")`` for ``x[i*m + j]``.
    like : str
        Where they suggest none: what they are made of, after a "+" where no array has them.
        Pointers with the same words seem to have the same length.
    fate : {"", "freed", "kept", "cast", "lent"}
        Why a pointer is no array of its type: the function gives it back, stores it elsewhere, or casts it.  "lent": it
        hands it and an integer to a function that is only declared.
    aligned : bool
        Its typedef asks for an alignment.
    use : ValueUse
        What the body does with the value, or with the elements.
    default : str
        Its default argument in C++.
    line : int
        1-based line in the cell.
    """

    name: str
    type: str
    const: bool = False
    pointer: int = 0
    shape: tuple[int | str, ...] = ()
    access: Literal["none", "read", "write", "update"] = "none"
    indexed: bool = False
    length: str = ""
    dims: tuple[int | str, ...] = ()
    like: str = ""
    fate: Literal["", "freed", "kept", "cast", "lent"] = ""
    aligned: bool = False
    use: ValueUse = _NO_USE
    default: str = ""
    line: int = 0

    @property
    def spelled(self) -> str:
        """Its type in C, an array as a pointer; without the ``const`` of a value."""
        if "(*)" in self.type:
            return self.type
        stars = "*" * (self.pointer + bool(self.shape))
        return f"{'const ' * bool(self.const and stars)}{self.type} {stars}".strip()


@dataclass(frozen=True)
class ReferenceParameter(Parameter):
    """A C++ parameter ``T &x``: like ``T *x`` to a caller of the ufunc, but C++ wants the element, not its address."""


class ConstReferenceParameter(Parameter):
    """A C++ parameter ``const T &x``: like ``T x`` to a caller of the ufunc, but what C++ passes is an address."""

    @property
    def spelled(self) -> str:
        """Its type in C."""
        return f"const {self.type} *"


@dataclass(frozen=True)
class ContainerParameter(Parameter):
    """A C++ parameter that is an array with its length: ``const std::vector<T> &``, ``std::span<T>``, ``T (&x)[3]``.

    ``type``, ``const``, ``pointer`` and ``shape`` are those of a pointer to its elements: ``pointer`` is 1 where its
    length is open.  One that is passed by value is const to its caller.

    Attributes
    ----------
    container : str
        ``"vector"`` and the like, without ``std::``; ``""`` for an array of C's.
    reference : bool
        C++ takes a reference to it.
    """

    container: str = ""
    reference: bool = False

    @property
    def spelled(self) -> str:
        """Its type in C++, nearly: it is for messages."""
        return f"std::{self.container}<{self.type}>" if self.container else f"{self.type} (&)"


@dataclass(frozen=True)
class BodyFacts:
    """The facts about a function's body that decide how its loops are compiled and called.

    Attributes
    ----------
    calls : frozenset of str
        Names called, the cell's own functions included.
    loops : bool
        It holds a loop or goto.
    loop_lines : dict
        Line of the cell on which a loop begins -> what ends the loop early, see `ReportData.loop_lines`.
    loop_ends : frozenset of str
        Integer parameters to which its loops count from 0.
    pure : bool
        Judging from its text, it depends on its arguments only and has no side effects: no statics, no globals written,
        no calls but to libm and to pure functions of the cell.
    traceless : bool
        A call changes nothing but what its arguments lead to.
    size : int
        Syntax nodes, functions of the cell it calls included: a measure for inlining.
    recursive : bool
    truncates : str
        Whether floating-point numbers become integers in it or in what it calls: ``""`` for no, ``"unsigned"`` where
        some become unsigned ones of 32 bits or more, else ``"signed"``.
    local_arrays : tuple of str
        Arrays of constant size on its stack, and on that of what it calls: ``"b[64]"``.
    instances : str
        Of a template, the types that it is compiled for where ``--types`` names none.
    """

    calls: frozenset[str] = frozenset()
    loops: bool = False
    loop_lines: Mapping[int, str | None] = field(default_factory=dict, hash=False)
    loop_ends: frozenset[str] = frozenset()
    pure: bool = False
    traceless: bool = False
    size: int = 0
    recursive: bool = False
    truncates: str = ""
    local_arrays: tuple[str, ...] = ()
    instances: str = "f4,f8"


@dataclass(frozen=True)
class Function:
    """One function definition of a cell.

    Attributes
    ----------
    name, returns : str
        C name; return type as written, without storage classes and qualifiers (``"void"``,
        ``"double"``, ``"double *"``, ``"struct point"``).
    parameters : tuple of Parameter
    line, end_line : int
        1-based, in the cell's own numbering.
    file : str
        ``""`` for the cell itself, else the local header it came from.
    text : str
        The definition as written (after preprocessing when it exists only there).
    doc : str
        The comment just above it, without comment marks and without the ``ufunc:`` line.
    annotation : str
        What followed ``ufunc:`` in that comment, or ``""``.
    static, variadic : bool
    template : tuple of str
        Names of C++ type template parameters, in order.
    scope : tuple of str
        Enclosing C++ namespaces.
    qualifiers : frozenset of str
        ``__device__``, ``__host__``, ``__global__``, ``extern "C"`` and ``inline`` (without ``extern``), if they are
        there.
    body : BodyFacts
    external : bool
        It is only declared: a library has its body.
    """

    name: str
    returns: str
    parameters: tuple[Parameter, ...]
    line: int = 0
    end_line: int = 0
    file: str = ""
    text: str = ""
    doc: str = ""
    annotation: str = ""
    static: bool = False
    variadic: bool = False
    template: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    qualifiers: frozenset[str] = frozenset()
    body: BodyFacts = BodyFacts()
    external: bool = False


@dataclass(frozen=True)
class Unit:
    """The declarations that the parser read from a cell's text.

    Attributes
    ----------
    functions : tuple of Function
        In order of definition, static ones included, headers' own only when preprocessed.
    typedefs : dict
        Name -> its meaning, as written, resolved one step; arrays and pointers keep their
        marks (``{"real": "double", "vec": "double [3]"}``).
    names : tuple of str
        Every identifier declared at file scope (functions, variables, tags, typedefs,
        enumerators), which is what a second copy of the cell must rename.
    calls : frozenset of str
        Every identifier called anywhere in the cell.
    identifiers : frozenset of str
        Every identifier used anywhere outside comments and strings.
    macros : tuple of str
        Names the cell defines with ``#define``.
    includes : tuple of str
        Headers as written between quotes or angle brackets, with their delimiters.
    unknown_types : tuple of str
        Type names used in a function's interface that neither the cell nor the standard table
        defines: the reason to look at preprocessed text.
    prototypes : tuple of Function
        Functions declared without a body: in the cell itself, and in headers those that it wraps.
    records : dict
        Name -> members of each structure that NumPy could have, or why it could not.
    stray_notes : tuple of (int, str)
        Line and words of each ``// ufunc:`` comment of the cell that belongs to no function.
    untyped : tuple of str
        C++ templates of functions without a type parameter, which are not among the functions.
    """

    functions: tuple[Function, ...] = ()
    typedefs: dict[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    macros: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    unknown_types: tuple[str, ...] = ()
    prototypes: tuple[Function, ...] = ()
    records: dict[str, tuple[Member, ...] | str] = field(default_factory=dict)
    stray_notes: tuple[tuple[int, str], ...] = ()
    untyped: tuple[str, ...] = ()

    @property
    def loop_lines(self) -> dict[int, str | None]:
        """The lines of the cell on which loops begin, with what ends them early."""
        return {line: words for function in self.functions for line, words in function.body.loop_lines.items()}

    @cached_property
    def calls_by_function(self) -> dict[str, frozenset[str]]:
        """Name of each function -> the names that it calls; computed once, because there may be thousands."""
        return {f.name: f.body.calls for f in self.functions}


@dataclass(frozen=True)
class Operand:
    """One operand of a ufunc.

    ``index`` is the position of its C parameter, -1 for the return value; ``role`` "inout" is
    in the inputs *and* in the outputs; ``type`` is the C spelling of one element as the cell writes
    it; ``core`` the core dimensions (names or fixed sizes), ``()`` for a scalar; ``pointer``
    means that C takes its address; ``record`` has the members of a structure.
    """

    name: str
    role: Literal["input", "output", "inout"]
    type: str
    index: int
    core: tuple[int | str, ...] = ()
    pointer: bool = False
    record: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Signature:
    """How one C function becomes one ufunc.

    Attributes
    ----------
    name : str
        Python name.
    function : Function
    inputs, outputs : tuple of Operand
        In ufunc order.  The return value is the first output; an "inout" operand is in both.
    sizes : dict
        C parameter position -> core dimension whose size it receives.
    core : str
        Core signature ``"(n),(n)->()"``, or ``""`` for an element-wise function.
    identity : {None, 0, 1, -1, "reorderable"}
    notes : tuple of str
        Notes for the report on how the function was understood.
    status : bool
        The function returns no result but 0 for success, as Numba's device functions do.
    """

    name: str
    function: Function
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    sizes: dict[int, str] = field(default_factory=dict)
    core: str = ""
    identity: int | str | None = None
    notes: tuple[str, ...] = ()
    status: bool = False

    @property
    def nin(self) -> int:
        return len(self.inputs)

    @property
    def nout(self) -> int:
        return len(self.outputs)

    @property
    def has_records(self) -> bool:
        """Whether some operand is a structure."""
        return any(o.record for o in (*self.inputs, *self.outputs))

    @property
    def own_output_dims(self) -> list[str]:
        """The core dimensions of outputs that no input has: computed ones, and those of a number or of ``out=``."""
        own = {dim for o in self.inputs for dim in o.core}
        dims = (dim for o in self.outputs for dim in o.core if isinstance(dim, str) and dim not in own)
        return list(dict.fromkeys(dims))

    @property
    def open_sizes(self) -> list[str]:
        """The names in sizes of outputs that no array has: a number or ``out=`` gives them."""
        own = {dim for o in self.inputs for dim in o.core}
        return [name for dim in self.own_output_dims for name in sorted(find_core_names(dim) - own)]

    @property
    def is_sized(self) -> bool:
        """Whether calls need the part of the driver that finds sizes."""
        return bool(self.own_output_dims) or "|1" in self.core

    @property
    def size_operands(self) -> dict[str, Operand]:
        """The single numbers among the inputs that give sizes of outputs, by the names of these sizes."""
        used = self.open_sizes
        if not used:
            return {}
        parameters = self.function.parameters
        named = {parameters[o.index].name: o for o in self.inputs if o.index >= 0 and not o.core}
        return {name: operand for name, operand in named.items() if name in used}
