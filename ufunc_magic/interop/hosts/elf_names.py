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
from collections.abc import Collection
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.hash import GNUHashTable

from ...model import TargetError

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_hash = GNUHashTable.gnu_hash


def list_exported(code: bytes) -> tuple[str, ...]:
    """The names of what the library defines for others, in the order of its table.

    Raises
    ------
    TargetError
        If it is no ELF library.
    """
    return tuple(symbol.name for _, symbol in _list_defined(_read_sections(code, ".dynsym")[0]))


def rename_symbols(code: bytes, names: Collection[str], *, seed: str) -> tuple[bytes, dict[str, str]]:
    """The library with other names for some of its symbols.

    Parameters
    ----------
    code : bytes
    names : collection of str
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
    symbols, strings, table = _read_sections(code, ".dynsym", ".dynstr", ".gnu.hash")
    order, bits = "<" if symbols.elffile.little_endian else ">", symbols.elffile.elfclass
    number, word = struct.Struct(f"{order}I"), struct.Struct(f"{order}{'Q' if bits == 64 else 'I'}")
    parameters = table.params
    bloom = table["sh_offset"] + 4 * number.size
    chains = bloom + parameters["bloom_size"] * word.size + parameters["nbuckets"] * number.size
    library, new_names = bytearray(code), {}
    for n, symbol in _list_defined(symbols):
        if symbol.name not in names:
            continue
        new = new_names[symbol.name] = _make_new_name(symbol.name, seed, parameters["nbuckets"])
        start = strings["sh_offset"] + symbol["st_name"]
        library[start : start + len(new)] = new.encode()
        value, chain = _hash(new), chains + number.size * (n - parameters["symoffset"])
        is_last = number.unpack_from(library, chain)[0] & 1
        number.pack_into(library, chain, value & ~1 | is_last)
        place = bloom + value // bits % parameters["bloom_size"] * word.size
        mask = 1 << value % bits | 1 << (value >> parameters["bloom_shift"]) % bits
        word.pack_into(library, place, word.unpack_from(library, place)[0] | mask)
    return bytes(library), new_names


def _read_sections(code: bytes, *names: str) -> list[Any]:
    try:
        elf = ELFFile(io.BytesIO(code))
    except ELFError as fault:
        raise TargetError(f"The machine code is not an ELF library: {fault}.") from fault
    sections = {name: elf.get_section_by_name(name) for name in names}
    for name, section in sections.items():
        if section is None:
            raise TargetError(
                f"The ELF library has no section {name}.", remedy="Link it with --hash-style=gnu or both."
            )
    return list(sections.values())


def _list_defined(symbols: Any) -> list[tuple[int, Any]]:
    """Place and symbol of what others can link with; a linker's own names, such as etext, are local."""
    named = [(n, s) for n, s in enumerate(symbols.iter_symbols()) if s["st_shndx"] != "SHN_UNDEF" and s.name]
    return [(n, s) for n, s in named if s["st_info"]["bind"] != "STB_LOCAL"]


def _make_new_name(name: str, seed: str, buckets: int) -> str:
    """A name of the same length and bucket: ``ufm`` and letters of a digest: 36 bits in __ufm_host, the shortest."""
    for count in itertools.count():
        digest = hashlib.sha256(f"{seed}\0{name}\0{count}".encode()).digest()
        new = "ufm" + "".join(_LETTERS[byte % 36] for byte in digest * 4)[: len(name) - 3]
        if _hash(new) % buckets == _hash(name) % buckets:
            return new
    raise AssertionError("unreachable")
