"""The names that an ELF library exports, read and replaced in its bytes.

A program that links several libraries of ours would find the first one's tables for all of them, because they bear
the same names.  A name is replaced by one of its length, so that nothing moves: what changes is the string, its hash
in ``.gnu.hash``, and the bits of that table's Bloom filter.  The new name is one that falls into the same bucket.
https://flapenguin.me/elf-dt-gnu-hash describes the table; it has no specification.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import struct
from collections.abc import Iterable
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from ...model import TargetError

__all__ = ["exported", "renamed"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def exported(code: bytes) -> tuple[str, ...]:
    """The names of what the library defines for others, in the order of its table.

    Raises
    ------
    TargetError
        If it is no ELF library.
    """
    return tuple(symbol.name for _, symbol in _defined(_section(_open(code), ".dynsym")))


def renamed(code: bytes, names: Iterable[str], *, seed: str) -> tuple[bytes, dict[str, str]]:
    """The library with other names for some of its symbols.

    Parameters
    ----------
    code : bytes
    names : iterable of str
        Exported ones; those that the library does not have are left out.
    seed : str
        The same seed gives the same names, another one others.

    Returns
    -------
    bytes
    dict
        Old name to new name.

    Raises
    ------
    TargetError
        If the bytes are no ELF library with a ``.gnu.hash``.
    """
    elf = _open(code)
    symbols, strings = _section(elf, ".dynsym"), _section(elf, ".dynstr")
    offset = _section(elf, ".gnu.hash")["sh_offset"]
    order = "<" if elf.little_endian else ">"
    buckets, first, words, shift = struct.unpack_from(f"{order}4I", code, offset)
    bits, letter = elf.elfclass, "Q" if elf.elfclass == 64 else "I"
    chains = offset + 16 + words * (bits // 8) + buckets * 4
    made, given = bytearray(code), {}
    wanted = set(names)
    for number, symbol in _defined(symbols):
        if symbol.name not in wanted:
            continue
        new = _other(symbol.name, seed, buckets)
        given[symbol.name] = new
        place = strings["sh_offset"] + symbol["st_name"]
        made[place : place + len(new)] = new.encode()
        value, chain = _hash(new), chains + 4 * (number - first)
        last = struct.unpack_from(f"{order}I", made, chain)[0] & 1
        struct.pack_into(f"{order}I", made, chain, value & ~1 | last)
        bloom = offset + 16 + value // bits % words * (bits // 8)
        mask = struct.unpack_from(f"{order}{letter}", made, bloom)[0]
        mask |= 1 << value % bits | 1 << (value >> shift) % bits
        struct.pack_into(f"{order}{letter}", made, bloom, mask)
    return bytes(made), given


def _open(code: bytes) -> Any:
    try:
        return ELFFile(io.BytesIO(code))
    except ELFError as fault:
        raise TargetError(f"The machine code is no ELF library: {fault}.") from fault


def _section(elf: Any, name: str) -> Any:
    found = elf.get_section_by_name(name)
    if found is None:
        raise TargetError(f"The ELF library has no section {name}.", remedy="Link it with --hash-style=gnu or both.")
    return found


def _defined(symbols: Any) -> list[tuple[int, Any]]:
    return [(n, s) for n, s in enumerate(symbols.iter_symbols()) if s["st_shndx"] != "SHN_UNDEF" and s.name]


def _hash(name: str) -> int:
    """DJB2, as in glibc's elf/dl-lookup.c."""
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _other(name: str, seed: str, buckets: int) -> str:
    """A name of the same length and bucket: ``ufm`` and letters of a digest: 36 bits in __ufm_host, the shortest."""
    bucket = _hash(name) % buckets
    for count in itertools.count():
        digest = hashlib.sha256(f"{seed}\0{name}\0{count}".encode()).digest()
        new = "ufm" + "".join(_LETTERS[byte % 36] for byte in digest * 4)[: len(name) - 3]
        if _hash(new) % buckets == bucket:
            return new
    raise AssertionError("unreachable")
