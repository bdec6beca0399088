"""Random C functions without undefined behaviour, and inputs for them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import cvalues
from .ctree import (
    Array,
    Assign,
    Binary,
    Call,
    Cast,
    Choose,
    Clamped,
    Declare,
    Expression,
    Function,
    If,
    Index,
    Leave,
    Library,
    Literal,
    Loop,
    Output,
    Parameter,
    Part,
    Return,
    Statement,
    Step,
    Switch,
    Unary,
    Variable,
)  # fmt: skip
from .cvalues import INT, TYPES, CType, promoted

__all__ = ["Style", "cell_of", "functions", "rows"]

#: Names that are ordinary in C and something else in Python, NumPy's loops or generated code.
_NAMES = """
    x y z a b c n m steps args dimensions data self lambda from in is def print len range math np out result i0 not
    pass None_ True_ e pi int_ list type id del raise with yield abs_ ufm count
""".split()
_INTEGERS, _FLOATS = "?bBhHiIlLqQ", "fdg"


@dataclass(frozen=True)
class Style:
    """What a batch's functions may use.

    ``near``: a batch compiled without ``strict``, whose floating multiplications could be contracted and
    whose libm calls are SIMD; there no product feeds a sum, and libm's results are only returned.  ``calm``: no loop
    is left by a floating-point test, which ``-O3 -fno-trapping-math`` of gcc 12 gets wrong: it takes
    ``if (i / 0.0 >= 1) break;`` to be true for 0 / 0.0.  ``plain``: beside what the same compiler makes of the same
    text; more of libm is called, complex numbers are divided, and there is what gcc decides by itself (the sign of
    ``0 - x``).
    """

    types: str = _INTEGERS + _FLOATS
    complex: bool = False
    near: bool = False
    calm: bool = False
    plain: bool = False

    @property
    def pairs(self) -> str:
        """Letters of the complex types."""
        return "".join(pair for pair, part in zip("FDG", "fdg", strict=True) if self.complex and part in self.types)


@dataclass
class _Scope:
    """What can be named at one place."""

    variables: list[Variable] = field(default_factory=list)
    #: Those that nothing may change: loop counters, bounds, sizes.
    fixed: list[Variable] = field(default_factory=list)
    #: Elements that can be read, and written.
    readable: list[Index] = field(default_factory=list)
    writable: list[Index] = field(default_factory=list)

    def inner(self) -> _Scope:
        return _Scope(*(list(part) for part in (self.variables, self.fixed, self.readable, self.writable)))


class Grower:
    """Makes one function after the other out of a random generator."""

    def __init__(self, rng: random.Random, style: Style) -> None:
        self.rng, self.style = rng, style
        self.used: set[str] = set()
        self.helpers: list[Function] = []
        self.scope = _Scope()
        self.returns: CType | None = None
        self.looping = 0

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.rng.randrange(len(choices))]

    def odds(self, chance: float) -> bool:
        return self.rng.random() < chance

    def name(self) -> str:
        for _ in range(3):
            name = str(self.pick(_NAMES))
            if name not in self.used:
                break
        else:
            name = f"v{len(self.used)}"
        self.used.add(name)
        return name

    def type(self, letters: str = "") -> CType:
        found = TYPES[self.pick(letters or self.style.types + self.style.pairs)]
        return replace(found, spellings=(self.pick(found.spellings), *found.spellings)) if self.odds(0.3) else found

    # -- expressions; family is "i" (integers), "r" (real) or "c" (anything)

    def expression(self, depth: int, family: str) -> Expression:
        if depth <= 0 or self.odds(0.12):
            return self.leaf(family)
        makers: list[Callable[[int, str], Expression]] = [self.arithmetic] * 5
        makers += [
            self.comparison,
            self.choice,
            self.choice,
            self.cast,
            self.unary,
            self.shift,
            self.division,
            self.logic,
        ]
        makers += [self.call] * (2 * bool(self.helpers)) + [self.clamped]
        if family != "i":
            makers += [self.floating] * 3 + [self.exact]
        if self.style.complex:
            makers += [self.part]
        made = self.pick(makers)(depth - 1, family)
        return made if _fits(made.type, family) else self.leaf(family)

    def leaf(self, family: str) -> Expression:
        named: list[Expression] = [
            *self.scope.variables,
            *self.scope.variables,
            *self.scope.fixed,
            *self.scope.readable,
        ]
        named = [v for v in named if _fits(v.type, family)]
        return self.pick(named) if named and self.odds(0.75) else self.literal(family)

    def literal(self, family: str) -> Literal:
        if family == "i" or self.odds(0.5):
            t = TYPES[self.pick("iiiiIlLqQ")]
            suffix = {"i": "", "I": "u", "l": "L", "L": "UL", "q": "LL", "Q": "ULL"}[t.char]
            number = self.pick(
                (0, 1, 2, 3, 7, 10, 127, 128, 255, self.rng.randrange(1 << 15), t.high >> self.rng.randrange(t.rank))
            )
            written = hex(number) if self.odds(0.2) else str(number)
            # Hexadecimal constants that fit only the unsigned type have it; decimal ones never.
            return Literal(written + suffix, number, t)
        t = TYPES[self.pick([c for c in self.style.types if c in _FLOATS] or "d")]
        number = cvalues.t_type(t)(
            self.pick((0.0, 0.5, 1.0, 1.5, 2.0, 10.0, 0.1, 1e-3, 123.456, self.rng.random() * 4))
        )
        if t.char == "g":
            number = np.longdouble(np.float64(number))
        text = repr(float(number))
        return Literal(text + {1: "f", 2: "", 3: "L"}[t.rank], number, t)

    def arithmetic(self, depth: int, family: str) -> Expression:
        integral = family == "i" or self.odds(0.5)
        inner = "i" if integral else family
        op = self.pick("+-*&|^" if integral else "+-")
        left, right = self.expression(depth, inner), self.expression(depth, inner)
        return self.between(op, left, right)

    def between(self, op: str, left: Expression, right: Expression) -> Expression:
        if op == "/" and right.type.kind == "c" and not self.style.plain:  # libgcc's scaling is its own
            op = "+"
        if self.style.near and op == "*" and not (left.type.integral and right.type.integral):
            op = "-"
        if op == "-" and _whole(left) and not right.type.integral and not self.style.plain:
            op = "+"  # gcc 12 makes -x of 0 - x where x comes from an integer, even without optimization
        if op in "&|^" and not (left.type.integral and right.type.integral):
            op = "+"
        return Binary(op, left, right, loud=self.odds(0.5))

    def floating(self, depth: int, family: str) -> Expression:
        return self.between(self.pick("+-**/"), self.expression(depth, family), self.real(depth, family))

    def real(self, depth: int, family: str) -> Expression:
        """Not an integer."""
        made = self.expression(depth, family)
        return made if not made.type.integral else Cast(self.type(_reals(self.style)), made)

    def comparison(self, depth: int, family: str) -> Expression:
        if self.style.complex and self.odds(0.2):
            return Binary(self.pick(("==", "!=")), self.expression(depth, "c"), self.expression(depth, "c"))
        op = self.pick(("<", "<=", ">", ">=", "==", "!="))
        return Binary(op, self.expression(depth, "r"), self.expression(depth, "r"), loud=self.odds(0.5))

    def logic(self, depth: int, family: str) -> Expression:
        if self.odds(0.3):
            return Unary("!", self.expression(depth, "c" if self.style.complex else "r"))
        return Binary(self.pick(("&&", "||")), self.test(depth), self.test(depth), loud=self.odds(0.7))

    def test(self, depth: int) -> Expression:
        return self.comparison(depth, "r") if self.odds(0.7) else self.expression(depth, "r")

    def choice(self, depth: int, family: str) -> Expression:
        return Choose(self.test(depth), self.expression(depth, family), self.expression(depth, family))

    def cast(self, depth: int, family: str) -> Expression:
        inner = self.expression(depth, family)
        letters = _INTEGERS if family == "i" or (inner.type.integral and self.odds(0.5)) else _reals(self.style)
        if self.style.complex and family == "c" and self.odds(0.3):
            letters = self.style.pairs
        t = self.type("".join(c for c in letters if c in self.style.types + self.style.pairs) or "d")
        if t.integral and not inner.type.integral:
            return inner
        return Cast(t, inner)

    def clamped(self, depth: int, family: str) -> Expression:
        reals = [v for v in (*self.scope.variables, *self.scope.readable) if v.type.kind == "f"]
        if not reals:
            return self.leaf(family)
        t = self.type(_INTEGERS[1:])
        return Clamped(t, self.pick(reals), min(t.high, self.pick((10, 100, 1000))))

    def unary(self, depth: int, family: str) -> Expression:
        inner = self.expression(depth, family)
        return Unary("~" if inner.type.integral and self.odds(0.5) else "-", inner)

    def shift(self, depth: int, family: str) -> Expression:
        left, count = self.expression(depth, "i"), self.expression(depth, "i")
        bits = promoted(left.type).rank
        return Binary(self.pick(("<<", ">>")), left, Binary("&", count, Literal(str(bits - 1), bits - 1, INT)))

    def division(self, depth: int, family: str) -> Expression:
        return Binary(self.pick("/%"), self.expression(depth, "i"), self.divisor(depth), loud=self.odds(0.5))

    def divisor(self, depth: int) -> Expression:
        """Never 0, and never -1 under the lowest integer."""
        if self.odds(0.5):
            number = self.pick((2, 3, 5, 7, 10, 16, 100))
            return Literal(str(number), number, INT)
        return Binary("|", Binary("&", self.expression(depth, "i"), Literal("15", 15, INT)), Literal("1", 1, INT))

    def exact(self, depth: int, family: str) -> Expression:
        t = TYPES[self.pick([c for c in self.style.types if c in _FLOATS] or "d")]
        if not self.style.plain or self.odds(0.5):
            return Library(self.pick(tuple(cvalues.EXACT)), t, self.expression(depth, "r"))
        if self.odds(0.7):
            return Library(self.pick((*cvalues.TAIL, "round", "nearbyint")), t, self.expression(depth, "r"))
        name, second = self.pick(("pow", "pow", "fmod", "fmin", "fmax", "hypot")), self.expression(depth, "r")
        if name == "pow" and self.odds(0.5):
            second = self.literal("r")
        return Library(name, t, self.expression(depth, "r"), second)

    def part(self, depth: int, family: str) -> Expression:
        inner = self.expression(depth, "c")
        if inner.type.kind != "c":
            inner = Cast(TYPES[self.pick(self.style.pairs)], inner)
        return Part(self.pick(("creal", "cimag", "conj") if family == "c" else ("creal", "cimag")), inner)

    def call(self, depth: int, family: str) -> Expression:
        helper = self.pick(self.helpers)
        return Call(helper, tuple(self.expression(min(depth, 2), _family(p.type)) for p in helper.parameters))

    # -- statements

    def body(self, depth: int, most: int) -> tuple[Statement, ...]:
        outside, self.scope = self.scope, self.scope.inner()
        made = tuple(s for _ in range(self.rng.randint(1, most)) for s in self.statement(depth))
        self.scope = outside
        return made

    def statement(self, depth: int) -> Iterable[Statement]:
        kinds = ["declare", "assign", "assign", "assign", "store", "step"]
        kinds += ["if", "if", "loop", "switch", "array"] if depth > 0 else []
        kinds += ["leave"] * 2 if self.looping else []
        kinds += ["return"] if depth < 2 and self.odds(0.4) and not (self.looping and self.style.calm) else []
        return getattr(self, f"_{self.pick(kinds)}")(depth)  # type: ignore[no-any-return]

    def _declare(self, depth: int) -> Iterable[Statement]:
        t = self.type()
        made = Declare(self.name(), t, self.expression(3, _family(t)))
        self.scope.variables.append(Variable(made.name, t))
        return [made]

    def _assign(self, depth: int) -> Iterable[Statement]:
        return [self.assigned(self.pick(self.scope.variables))] if self.scope.variables else []

    def _store(self, depth: int) -> Iterable[Statement]:
        return [self.assigned(self.pick(self.scope.writable))] if self.scope.writable else self._assign(depth)

    def assigned(self, target: Variable | Index) -> Statement:
        t = target.type
        if self.odds(0.4):
            return Assign(target, "", self.expression(3, _family(t)))
        if not t.integral:
            op = "+" if self.style.near else self.pick("+-*/" if t.kind == "f" else "+-*")
            return Assign(target, op, self.expression(3, _family(t)))
        op = self.pick(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"))
        if op in ("<<", ">>"):
            bits = promoted(t).rank - 1
            return Assign(target, op, Binary("&", self.expression(2, "i"), Literal(str(bits), bits, INT)))
        return Assign(target, op, self.divisor(2) if op in "/%" else self.expression(3, "i"))

    def _step(self, depth: int) -> Iterable[Statement]:
        found = [v for v in self.scope.variables if v.type.kind in "iuf"]
        return [Step(self.pick(found), self.pick(("++", "--")), self.odds(0.5))] if found else []

    def _if(self, depth: int) -> Iterable[Statement]:
        return [If(self.test(3), self.body(depth - 1, 2), self.body(depth - 1, 2) if self.odds(0.5) else ())]

    def _loop(self, depth: int) -> Iterable[Statement]:
        made: list[Statement] = []
        bound: Expression = Literal(str(number := self.rng.randint(1, 5)), number, INT)
        if self.odds(0.4):
            few = Declare(self.name(), INT, Binary("&", self.expression(2, "i"), Literal("3", 3, INT)))
            made.append(few)
            bound = Variable(few.name, INT)
            self.scope.fixed.append(Variable(few.name, INT))
        kind = self.pick(("up", "up", "down", "by2", "while", "do"))
        return [*made, self.loop(kind, bound, depth)]

    def loop(self, kind: str, bound: Expression, depth: int, reached: Callable[[Variable], None] | None = None) -> Loop:
        """A loop over ``bound``; ``reached`` adds to the scope what the counter makes reachable."""
        outside, self.scope = self.scope, self.scope.inner()
        before, self.looping = self.looping, 2 if kind in ("up", "down", "by2") else 1
        counter = Variable(self.name(), INT)
        self.scope.fixed.append(counter)
        if reached:
            reached(counter)
        made = Loop(kind, counter.name, bound, self.body(depth - 1, 3))
        self.scope, self.looping = outside, before
        return made

    def _leave(self, depth: int) -> Iterable[Statement]:
        test = self.pick(self.scope.fixed) if self.style.calm else self.test(2)
        return [Leave(test, self.pick(("break", "continue")[: self.looping]))]

    def _switch(self, depth: int) -> Iterable[Statement]:
        before, self.looping = self.looping, 0
        mask = self.pick((1, 3))
        cases = tuple((self.body(depth - 1, 2), self.odds(0.7)) for _ in range(self.rng.randint(1, mask + 1)))
        made = Switch(
            Binary("&", self.expression(2, "i"), Literal(str(mask), mask, INT)), cases, self.body(depth - 1, 1)
        )
        self.looping = before
        return [made]

    def _array(self, depth: int) -> Iterable[Statement]:
        made = self.array()
        for index in self.indices(4):
            element = Index(made.name, made.type, index)
            self.scope.readable.append(element)
            self.scope.writable.append(element)
        return [made]

    def array(self, *, static: bool = False) -> Array:
        t = self.type(self.style.types)
        return Array(self.name(), t, tuple(self.literal(_family(t)) for _ in range(4)), static)

    def indices(self, count: int) -> list[Expression]:
        """Indices into a power of two of elements."""
        last = Literal(str(count - 1), count - 1, INT)
        found: list[Expression] = [Binary("&", v, last) for v in self.scope.variables if v.type.kind in "iu"][-2:]
        return [*found, Literal("0", 0, INT), last]

    def _return(self, depth: int) -> Iterable[Statement]:
        return [self.result()]

    def result(self) -> Return:
        if self.returns is None:
            return Return(None)
        made = self.expression(4, _family(self.returns))
        if self.returns.char in "fd" and made.type.kind != "c" and self.style.near and self.odds(0.5):
            made = Library(self.pick(cvalues.TAIL), self.returns, made)
        return Return(made, self.returns)

    # -- functions

    def function(self, name: str) -> Function:
        self.used, self.scope, self.helpers = {name}, _Scope(), []
        before: list[Any] = []
        if self.odds(0.25):
            table = replace(self.array(static=True), name=f"table_{name}")
            before.append(table)
        if self.odds(0.3):
            helper = self.helper(f"help_{name}")
            before.append(helper)
            self.helpers = [helper]
        self.used, self.scope = {name}, _Scope()
        if before and isinstance(before[0], Array):
            self.scope.readable += [Index(before[0].name, before[0].type, Literal(str(k), k, INT)) for k in range(4)]
        kind = self.rng.random()
        make = self.scalar if kind < 0.6 else self.pointers if kind < 0.72 else self.pick(_GENERALIZED)
        made: Function = make(name) if kind < 0.72 else make(self, name)
        return replace(made, before=tuple(before))

    def helper(self, name: str) -> Function:
        self.scope, self.returns = _Scope(), self.type()
        parameters = self.parameters(self.rng.randint(1, 2))
        body = (*self.body(1, 2), self.result()) if self.odds(0.5) else (self.result(),)
        return Function(name, self.returns, parameters, body, static=True)

    def parameters(self, count: int, t: CType | None = None) -> tuple[Parameter, ...]:
        made = tuple(Parameter(self.name(), t or self.type()) for _ in range(count))
        self.scope.variables += [Variable(p.name, p.type) for p in made]
        return made

    def rest(self, most: int = 4) -> tuple[Statement, ...]:
        """Statements whose declarations stay in scope, then the result."""
        return (*(s for _ in range(self.rng.randint(0, most)) for s in self.statement(2)), self.result())

    def scalar(self, name: str) -> Function:
        same = self.type() if self.odds(0.25) else None
        self.returns = same or self.type()
        parameters = self.parameters(2 if same else self.rng.randint(1, 4), same)
        return Function(name, self.returns, parameters, self.rest())

    def pointers(self, name: str) -> Function:
        self.returns = self.type() if self.odds(0.4) else None
        parameters = self.parameters(self.rng.randint(1, 3))
        outputs = []
        for _ in range(self.rng.randint(1, 2)):
            t = self.type()
            p = self.name()
            outputs.append(Parameter(p, t, "out", (), f"{{}} *{p}"))
        body = [s for _ in range(self.rng.randint(0, 2)) for s in self.statement(1)]
        body += [Output(p.name, p.type, self.expression(3, _family(p.type))) for p in outputs]
        mixed = [*parameters, *outputs]
        if self.odds(0.3):
            mixed = [*outputs[:1], *parameters, *outputs[1:]]
        return Function(name, self.returns, tuple(mixed), (*body, *([self.result()] if self.returns else [])))

    def sized(self, core: tuple[int | str, ...], role: str) -> Parameter:
        name, t = self.name(), self.type()
        const = "const " * (role == "in")
        return Parameter(name, t, role, core, f"{const}{{}} *{name}")

    def size(self, dim: str) -> Parameter:
        self.used.add(dim)
        self.scope.fixed.append(Variable(dim, INT))
        return Parameter(dim, INT, "size", (dim,))

    def over(self, arrays: Sequence[Parameter], dim: str, depth: int = 2) -> Loop:
        """A loop over a dimension that reads and writes the arrays."""

        def reached(counter: Variable) -> None:
            for p in arrays:
                element = Index(p.name, p.type, counter)
                if p.role != "out":
                    self.scope.readable += [element] * 3
                if p.role != "in":
                    self.scope.writable += [element] * 3

        return self.loop(self.pick(("up", "up", "down", "by2")), Variable(dim, INT), depth, reached)


def _reduced(self: Grower, name: str) -> Function:
    """(n)->() and (n),(n)->(), with a scalar beside it."""
    self.returns = self.type()
    dim = self.pick(("n", "m", "len"))
    size, arrays = self.size(dim), [self.sized((dim,), "in") for _ in range(self.rng.randint(1, 2))]
    scalars = self.parameters(self.rng.randint(0, 1))
    total = Declare(self.name(), self.type(), self.leaf("i"))
    self.scope.variables.append(Variable(total.name, total.type))
    body = (total, self.over(arrays, dim), *self.rest(1))
    given = ",".join([f"({dim})"] * len(arrays) + ["()"] * len(scalars))
    parameters = (size, *arrays, *scalars) if self.odds(0.3) else (*arrays, *scalars, size)
    return Function(name, self.returns, parameters, body, f"{given}->()")


def _mapped(self: Grower, name: str) -> Function:
    """(n),()->(n), and in place."""
    self.returns = None
    dim = self.pick(("n", "m", "count"))
    size, scalars = self.size(dim), self.parameters(1)
    if self.odds(0.4):
        arrays = [self.sized((dim,), "inout")]
        told = f"({dim}),()->({dim}) inout={arrays[0].name}"
    else:
        arrays = [self.sized((dim,), "in"), self.sized((dim,), "out")]
        told = f"({dim}),()->({dim})"
    return Function(name, None, (arrays[0], *scalars, *arrays[1:], size), (self.over(arrays, dim),), told)


def _fixed(self: Grower, name: str) -> Function:
    """(4)->(), from the declaration alone."""
    self.returns = self.type()
    core, t = self.name(), self.type()
    parameter = Parameter(core, t, "in", (4,), f"const {{}} {core}[4]")
    scalars = self.parameters(self.rng.randint(0, 2))
    self.scope.readable += [Index(core, t, index) for index in self.indices(4)]
    return Function(name, self.returns, (parameter, *scalars), self.rest(3))


def _matrix(self: Grower, name: str) -> Function:
    """(m,n),(n)->(m)."""
    self.returns = None
    rows, columns = self.size("m"), self.size("n")
    matrix, vector, out = (
        self.sized(core, role) for core, role in ((("m", "n"), "in"), (("n",), "in"), (("m",), "out"))
    )

    def inside(row: Variable) -> None:
        self.scope.writable += [Index(out.name, out.type, row)] * 2
        total = Declare(self.name(), self.type(), Literal("0", 0, INT))
        self.scope.variables.append(Variable(total.name, total.type))

        def reached(column: Variable) -> None:
            place = Binary("+", Binary("*", row, Variable("n", INT)), column)
            self.scope.readable += [Index(matrix.name, matrix.type, place), Index(vector.name, vector.type, column)] * 2

        inner.extend([total, self.loop("up", Variable("n", INT), 2, reached)])

    inner: list[Statement] = []
    outer = self.loop("up", Variable("m", INT), 1, inside)
    store = Assign(Index(out.name, out.type, Variable(outer.name, INT)), "", Variable(inner[0].name, inner[0].type))  # type: ignore[attr-defined]
    if not inner[0].type.integral and out.type.integral:  # type: ignore[attr-defined]
        store = Assign(store.target, "", Literal("1", 1, INT))
    if inner[0].type.kind == "c" and out.type.kind != "c":  # type: ignore[attr-defined]
        store = Assign(store.target, "", Literal("2", 2, INT))
    body = (replace(outer, body=(*inner, *outer.body, store)),)
    return Function(name, None, (matrix, vector, out, rows, columns), body, "(m,n),(n)->(m)")


_GENERALIZED: tuple[Callable[[Grower, str], Function], ...] = (_reduced, _reduced, _mapped, _fixed, _matrix)


def _whole(e: Expression) -> bool:
    """Whether its value comes from an integer."""
    return e.type.integral or (isinstance(e, Cast) and _whole(e.of))


def _family(t: CType) -> str:
    return "i" if t.integral else "r" if t.kind == "f" else "c"


def _fits(t: CType, family: str) -> bool:
    return t.integral or family == "c" or (family == "r" and t.kind == "f")


def _reals(style: Style) -> str:
    return "".join(c for c in style.types if c in _FLOATS) or "d"


def functions(seed: int, *, count: int, style: Style, start: int = 0) -> list[Function]:
    """So many functions, the same for the same seed."""
    rng = random.Random(seed)
    return [Grower(rng, style).function(f"f{start + k}") for k in range(count)]


def cell_of(made: Sequence[Function], style: Style) -> str:
    """The cell that defines them."""
    headers = ["stdint.h", "stdbool.h", "stddef.h", "math.h", *(["complex.h"] if style.complex else [])]
    return "\n".join([*(f"#include <{h}>" for h in headers), "", *(f.text() for f in made)])


# -- inputs

_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 7.0, 100.25, -1e3, 1e10, math.inf, -math.inf, math.nan)


def rows(rng: random.Random, t: CType, count: int) -> NDArray[Any]:
    """Values of a type: its edges, small ones, any."""
    if t.kind == "c":
        part = cvalues.real_of(t)
        both = rows(rng, part, count), rows(rng, part, count)
        made = np.empty(count, t.char)
        made.real, made.imag = both
        return made
    if t.integral:
        edges = [t.low, t.high, t.low + 1, t.high - 1, t.high >> 1, 0, 1, max(-1, t.low), max(-2, t.low)]
        whole = [
            rng.choice(edges) if rng.random() < 0.4 else max(t.low, min(t.high, rng.randint(-9, 40)))
            if rng.random() < 0.5 else rng.randint(t.low, t.high)
            for _ in range(count)
        ]  # fmt: skip
        return np.array(whole, t.char)
    info = np.finfo(t.char)
    tiny = (info.tiny, info.smallest_subnormal, info.max, -info.max)
    real = [
        rng.choice((*_EDGES, *tiny)) if rng.random() < 0.35 else rng.uniform(-4, 4) if rng.random() < 0.6 else
        rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-40, 40)
        for _ in range(count)
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array([np.longdouble(v) for v in real]).astype(t.char)
