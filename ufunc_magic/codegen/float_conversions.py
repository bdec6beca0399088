"""Functions in which floating-point numbers become integers, which gcc must not compile with -fno-trapping-math.

Under that flag it makes ``trunc(x)`` of ``(double)(int)x``: -0.5 becomes -0.0, and 300 as a char stays 300.  All other
functions keep the flag, because conditions that compute are vectorized by it alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Function, Options, Unit

#: `BodyFacts.truncates` -> the macro of ``templates/support.h`` for loops of such functions.
_MACROS = {"": "", "signed": "__UFM_SIGNED", "unsigned": "__UFM_UNSIGNED"}


@dataclass(frozen=True)
class FloatConversions:
    """How a unit takes care of conversions.

    Attributes
    ----------
    whole : bool
        All of the unit is compiled without the flag.
    apart : frozenset of str
        Else the functions that are.
    """

    whole: bool = False
    apart: frozenset[str] = frozenset()

    def write_attribute(self, function: Function) -> str:
        """The macro for loops of a function, and for the function where it is ``apart``."""
        truncates = function.body.truncates
        if function.name in self.apart:
            return _MACROS[truncates or "signed"]
        return _MACROS["unsigned"] if truncates == "unsigned" else ""

    def write_declarations(self, unit: Unit) -> list[str]:
        """C text after the cell: its functions that are ``apart``, declared once more as such."""
        functions = {f.name: f for f in unit.functions if f.name in self.apart}
        lines = [f"{self.write_attribute(f)} __typeof__({name}) {name};" for name, f in functions.items()]
        # gcc warns of attributes that follow the definition, and heeds them.
        quiet = ["#pragma GCC diagnostic push", '#pragma GCC diagnostic ignored "-Wattributes"']
        return [*quiet, *lines, "#pragma GCC diagnostic pop"] if lines else []


def find_conversions(unit: Unit, *, options: Options) -> FloatConversions:
    """Decide for a unit.

    gcc inlines no function into one with another such flag.  So functions that call each other, or are called by the
    same one, are in this alike; in C++ the whole unit is, because headers have functions too.
    """
    truncating = {f.name for f in unit.functions if f.body.truncates}
    if not truncating:
        return FloatConversions()
    names = {f.name for f in unit.functions}
    if options.cplus or options.strict or options.types or not names.isdisjoint(unit.macros):
        return FloatConversions(whole=True)
    groups: dict[str, set[str]] = {}
    for function in unit.functions:
        joined = {function.name, *(function.body.calls & names)}
        joined = joined.union(*(groups.get(name, ()) for name in joined))
        groups.update(dict.fromkeys(joined, joined))
    apart = frozenset().union(*(groups[name] for name in truncating))
    return FloatConversions(whole=True) if apart == names else FloatConversions(apart=apart)
