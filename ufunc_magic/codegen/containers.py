"""Arrays that C++ takes as objects: how a loop makes ``std::span<T>`` and the like of an operand.  Pure text."""

from __future__ import annotations

from ..model import ContainerParameter

#: Name -> a temporary object with ``n`` elements from pointer ``p`` on.  ``std::array`` and ``T (&)[3]`` have none: the
#: operand's memory is the object.
_CONSTRUCTORS = {
    "vector": "{t}({p}, {p} + {n})",
    "valarray": "{t}({p}, {n})",
    "span": "{t}({p}, {n})",
    "string": "{t}({p}, {n})",
    "string_view": "{t}({p}, {n})",
}
#: All that a parameter can be.
CONTAINERS = frozenset((*_CONSTRUCTORS, "array"))
#: Those of bytes, which C++ calls characters.
TEXTS = frozenset(("string", "string_view"))
#: Those that lead to memory of others.
VIEWS = frozenset(("span", "string_view"))


def spell_container(p: ContainerParameter, element: str) -> str:
    """The type of a container, as C++ spells it."""
    const = "const " if p.const else ""
    if not p.container:
        return f"{const}{element} {''.join(f'[{size}]' for size in p.shape)}"
    if p.container in TEXTS:
        return f"std::{p.container}"
    if p.container == "span":
        extent = "" if p.pointer else f", {p.shape[0]}"
        return f"std::span<{const}{_name_item(p, element)}{extent}>"
    return _name_item(p, element) if p.container == "array" else f"std::{p.container}<{_name_item(p, element)}>"


def _name_item(p: ContainerParameter, element: str) -> str:
    """The type of one element, which may be an array of fixed size."""
    element = "char" if p.container in TEXTS else element
    fixed = p.shape[1:] if p.container == "span" and not p.pointer else p.shape
    for size in reversed(fixed):
        element = f"std::array<{element}, {size}>"
    return element


def write_container_argument(p: ContainerParameter, element: str, *, pointer: str, count: str) -> str:
    """The container as an argument: of the elements at ``pointer``, ``count`` times its item."""
    const = "const " if p.const else ""
    if not p.container:
        return f"*({const}{element} (*){''.join(f'[{size}]' for size in p.shape)}){pointer}"
    if p.container == "array":
        return f"*({const}{spell_container(p, element)} *){pointer}"
    place = f"(({const}{_name_item(p, element)} *){pointer})"
    return _CONSTRUCTORS[p.container].format(
        t=spell_container(p, element), p=place, n=count if p.pointer else str(p.shape[0])
    )


def is_copied_back(p: ContainerParameter) -> bool:
    """Whether what C++ changes in it is to be written to the operand."""
    return p.reference and not p.const and p.container in _CONSTRUCTORS.keys() - VIEWS


def copy_back(p: ContainerParameter, element: str, variable: str, *, pointer: str, count: str) -> str:
    """Write the elements of a container to where they came from, if there are as many as before."""
    fault = f'__ufm_fail("{p.name}, a std::{p.container}, has another size after the call than before it")'
    return (
        f"if ((__ufm_intp){variable}.size() != {count}) {{ {fault}; return 1; }} "
        f"for (__ufm_intp __ufm_j = 0; __ufm_j < {count}; __ufm_j++) "
        f"(({_name_item(p, element)} *){pointer})[__ufm_j] = {variable}[__ufm_j];"
    )
