"""Structures as the C compiler lays them out: constant expressions for it, and NumPy's dtype of what it made of them.

Every number of a layout has four bytes: the structure's size, and of each member its offset and either NumPy's type
number or, of a structure, its own layout.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from ..model import TYPES, Member, SignatureError

#: Numbers in the structures of a loop that messages show and floating-point flags are judged by.
_MOST_LEAVES = 64


def write_layout(t: str, members: Sequence[Member]) -> list[str]:
    """The bytes of the layout of type ``t``, as constant expressions."""
    words = [f"(unsigned)sizeof({t})", *_read_words(t, "", members)]
    return [f"({word}) >> {8 * n} & 255" for word in words for n in range(4)]


def _read_words(t: str, path: str, members: Sequence[Member]) -> Iterator[str]:
    outer = path.removesuffix(".")
    start = f" - __builtin_offsetof({t}, {outer})" if outer else ""
    for member in members:
        place = f"{path}{member.name}"
        item = place + "[0]" * len(member.shape)
        kind = f"__typeof__((({t} *)0)->{item})"
        yield f"(unsigned)(__builtin_offsetof({t}, {place}){start})"
        if member.members:
            yield f"(unsigned)sizeof({kind})"
            yield from _read_words(t, f"{item}.", member.members)
        else:
            yield f"(unsigned)__UFM_TYPE({kind})"


def count_layout_bytes(members: Sequence[Member]) -> int:
    """Bytes of the layout."""
    return 4 * (1 + sum(1 + (count_layout_bytes(m.members) // 4 if m.members else 1) for m in members))


def write_description(data: bytes, members: Sequence[Member], name: str) -> str:
    """A layout as JSON: what `numpy.dtype` takes, with the type's ``name`` in C as ``"type"``.

    Raises
    ------
    SignatureError
        If a member is of a type that NumPy has not.
    """
    words = iter([int.from_bytes(data[n : n + 4], "little") for n in range(0, count_layout_bytes(members), 4)])
    return json.dumps({"type": name, **_describe(words, members)}, separators=(",", ":"))


def _describe(words: Iterator[int], members: Sequence[Member]) -> dict[str, Any]:
    itemsize = next(words)
    formats, offsets = [], []
    for member in members:
        offsets.append(next(words))
        if not member.members and (number := next(words)) not in TYPES:
            raise SignatureError(
                f"{member.type!r}, the type of the member {member.name}, is not a NumPy number type.",
                remedy="Make the function static, or take the member out.",
            )
        item = _describe(words, member.members) if member.members else TYPES[number].char
        formats.append([item, list(member.shape)] if member.shape else item)
    return {"names": [m.name for m in members], "formats": formats, "offsets": offsets, "itemsize": itemsize}


def write_leaves(n: int, t: str, members: Sequence[Member]) -> list[str]:
    """C for each of the numbers in operand ``n``, as ``__ufm_leaf`` of templates/interface.h has them."""
    if not members:
        return [f'{{{n}, 1, 0, __UFM_TYPE({t}), ""}}']
    entries = []
    for path, count in _list_leaves("", members):
        kind = f"__typeof__((({t} *)0)->{path})"
        shown = re.sub(r"(?:\[0\])+$", "", path) if count > 1 else path
        entries.append(f'{{{n}, {count}, (int)__builtin_offsetof({t}, {path}), __UFM_TYPE({kind}), "{shown}"}}')
    return entries[:_MOST_LEAVES]


def _list_leaves(path: str, members: Sequence[Member]) -> Iterator[tuple[str, int]]:
    for member in members:
        place = f"{path}{member.name}"
        if not member.members:
            yield place + "[0]" * len(member.shape), math.prod(member.shape)
            continue
        for index in product(*map(range, member.shape)):
            yield from _list_leaves(f"{place}{''.join(f'[{i}]' for i in index)}.", member.members)
