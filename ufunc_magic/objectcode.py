"""ObjectCode: machine code as a value, with everything needed to make functions of it elsewhere.

Wire form, version 1 (little-endian)::

    4 bytes   b"UFMO"
    u16       version of this format
    u16       0
    u32       length of the header in bytes
    header    UTF-8 JSON: target, language, toolchain, source, functions
    code      the shared library, to the end

The digest is SHA-256 over all of it.  Nothing here opens or runs what it holds.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from .errors import Diagnostic, TargetError

__all__ = ["FORMAT_VERSION", "FunctionCode", "LoopCode", "ObjectCode", "Target", "required_glibc"]

FORMAT_VERSION = 1
_HEAD = struct.Struct("<4sHHI")
_MAGIC = b"UFMO"


@dataclass(frozen=True)
class Target:
    """What a machine must be to run the code.

    Attributes
    ----------
    format : {"elf", "mach-o", "pe"}
    os, machine : str
        ``sys.platform`` and ``platform.machine()`` in lower case.
    libc : str
        ``"glibc 2.35"``: the oldest C library that has every symbol the code binds; ``""`` if it
        does not say.
    level : str
        ``"baseline"`` for code that runs on every CPU of ``machine``, else what it was made for.
    python : str
        ABI tag of the Python that an extension module is for (``"cpython-311-x86_64-linux-gnu"``); ``""`` for code
        that needs none.
    """

    format: Literal["elf", "mach-o", "pe"]
    os: str
    machine: str
    libc: str = ""
    level: str = "baseline"
    python: str = ""

    def __str__(self) -> str:
        level = "" if self.level == "baseline" else self.level
        return " ".join(filter(None, (self.os, self.machine, self.libc, level, self.python)))


@dataclass(frozen=True)
class LoopCode:
    """One loop: its place in the object's ``__ufm_loops`` table and the NumPy type numbers of its operands."""

    index: int
    types: tuple[int, ...]


@dataclass(frozen=True)
class FunctionCode:
    """One function of the object, under its Python name.

    Attributes
    ----------
    kind : {"ufunc", "plain", "python"}
        "plain" is a C function called through cffi, "python" an object of the extension module that the code is.
    nin, nout : int
    core : str
        Core signature, ``""`` for element-wise ufuncs.
    identity : {None, 0, 1, -1, "reorderable"}
    parameters, results : tuple of str
        Names of the inputs and outputs, for ``inspect.signature`` and the docstring.
    loops : tuple of LoopCode
        Narrow to wide.
    index : int
        For plain functions: place in ``__ufm_functions``.
    declaration : str
        For plain functions: the C declarations cffi needs to call it.
    doc, source, line :
        The comment above it, its text, its line in the cell.
    reason : str
        For plain functions: why it is not a ufunc.
    notes : tuple of str
    python, checked, vector : str
        The function ``python_name`` as plain Python, as Python with C's answers where Python raises, and as
        a NumPy expression; ``""`` where it cannot be said so.
    python_reason : str
        Why not.
    timed : tuple of int
        Types of the loop that the Python form stands for; empty for a function that must not be called to be timed.
    cautious : bool
        It may loop long, recurse, or index a table: not to be called on just any value.
    samples : tuple of str
        For "python" functions that may be called to be timed: what each parameter takes, NumPy's type letter and
        the number of dimensions (``"d1"``, ``"l0"``; ``"O1"`` for an array of any type); else empty.
    """

    name: str
    kind: Literal["ufunc", "plain", "python"]
    nin: int = 0
    nout: int = 0
    core: str = ""
    identity: int | str | None = None
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    loops: tuple[LoopCode, ...] = ()
    index: int = -1
    declaration: str = ""
    doc: str = ""
    source: str = ""
    line: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()
    python: str = ""
    checked: str = ""
    vector: str = ""
    python_name: str = ""
    python_reason: str = ""
    timed: tuple[int, ...] = ()
    cautious: bool = False
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObjectCode:
    """Machine code and what it says of itself.  Frozen, comparable by digest, serialisable.

    ``module`` is the name of the extension module that the code is, ``""`` if it is none; ``preload`` are modules
    to import before it is opened; ``annotated`` is the view of ``--annotate``, as JSON.
    """

    code: bytes = field(repr=False)
    target: Target
    functions: tuple[FunctionCode, ...]
    language: str = "c"
    toolchain: str = ""
    source: str = field(default="", repr=False)
    name: str = ""
    threads: bool = False
    diagnostics: tuple[Diagnostic, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    command: str = field(default="", repr=False)
    module: str = ""
    preload: tuple[str, ...] = ()
    annotated: str = field(default="", repr=False)

    @cached_property
    def header(self) -> bytes:
        """Everything but the code, as canonical JSON."""
        fields = {k: v for k, v in self.__dict__.items() if k in _HEADER_FIELDS}
        plain = {k: _plain(v) for k, v in fields.items()}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the wire form, in hexadecimal."""
        head = _HEAD.pack(_MAGIC, FORMAT_VERSION, 0, len(self.header))
        return hashlib.sha256(b"".join((head, self.header, self.code))).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ObjectCode) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_bytes(self) -> bytes:
        """The wire form."""
        return b"".join((_HEAD.pack(_MAGIC, FORMAT_VERSION, 0, len(self.header)), self.header, self.code))

    @classmethod
    def from_bytes(cls, data: bytes) -> ObjectCode:
        """Read a wire form.

        Raises
        ------
        TargetError
            If it is not one, is of a newer version, or is cut short.
        """
        if len(data) < _HEAD.size or data[:4] != _MAGIC:
            raise TargetError(
                f"These {len(data)} bytes are not object code of ufunc_magic.", remedy="Give what dumps() returned."
            )
        _, version, _, length = _HEAD.unpack_from(data)
        if version != FORMAT_VERSION:
            raise TargetError(
                f"This object code has format {version}; this ufunc_magic reads {FORMAT_VERSION}.",
                remedy="Use the same ufunc_magic on both sides.",
            )
        end = _HEAD.size + length
        if end > len(data):
            raise TargetError("The object code is cut short.", remedy="Send it again.")
        return cls.from_parts(data[_HEAD.size : end], data[end:])

    @classmethod
    def from_parts(cls, header: bytes, code: bytes) -> ObjectCode:
        """Join a header (as in :attr:`header`) and machine code.

        Raises
        ------
        TargetError
            If the header does not have the fields of this format.
        """
        try:
            h: dict[str, Any] = json.loads(header)
            made = cls(
                code=code,
                target=Target(**h["target"]),
                functions=tuple(_function(f) for f in h["functions"]),
                language=h["language"],
                toolchain=h["toolchain"],
                source=h["source"],
                name=h["name"],
                threads=h["threads"],
                diagnostics=tuple(Diagnostic(**d) for d in h["diagnostics"]),
                notes=tuple(h["notes"]),
                command=h["command"],
                module=h["module"],
                preload=tuple(h["preload"]),
                annotated=h["annotated"],
            )
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise TargetError(
                f"The object code's header cannot be read: {fault!r}.", remedy="Make it again."
            ) from fault
        # The header's own bytes are kept: they are what the digest was taken of.
        made.__dict__["header"] = header
        return made


_HEADER_FIELDS = frozenset(
    "target functions language toolchain source name threads diagnostics notes command module preload annotated".split()
)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def _function(h: dict[str, Any]) -> FunctionCode:
    loops = tuple(LoopCode(loop["index"], tuple(loop["types"])) for loop in h["loops"])
    lists = {k: tuple(h[k]) for k in ("parameters", "results", "notes", "timed", "samples")}
    return FunctionCode(**{**h, **lists, "loops": loops})


def required_glibc(code: bytes) -> str:
    """The newest GLIBC symbol version that an ELF object asks for, ``"glibc 2.35"``, or ``""``.

    Read from the version-needs strings (gABI ``.gnu.version_r``), which name each one in full.
    """
    versions = {tuple(map(int, v.split(b"."))) for v in re.findall(rb"GLIBC_(2(?:\.\d+)+)\0", code)}
    return f"glibc {'.'.join(map(str, max(versions)))}" if versions else ""
