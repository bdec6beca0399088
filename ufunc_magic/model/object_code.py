"""ObjectCode: machine code as a value, with everything that another process needs to turn it into functions.

Wire form, version 1 (little-endian)::

    4 bytes   b"UFMO"
    u16       version of this format
    u16       flags: 1 signed
    u32       length of the header in bytes
    u32       length of the code in bytes
    header    UTF-8 JSON: entry, target, language, toolchain, source, functions, ...
    code      the shared library
    32 bytes  seal: SHA-256 of all before the code, followed by the SHA-256 of the code
    32 bytes  HMAC-SHA256 of the seal, only if signed

Nothing here opens or runs the code.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from keyword import iskeyword
from operator import attrgetter, itemgetter
from typing import Any, Literal, TypeVar

from .cell_place import CellPlace
from .errors import TargetError
from .number_types import MAX_OPERANDS, RECORD, TYPES, find_core_names, split_core_groups

FORMAT_VERSION = 1
_HEAD = struct.Struct("<4sHHII")
#: A line of ``FunctionCode.declaration``: types of system headers come before it, those of the cell after it.
OWN_TYPES = "/* types of the cell */"
_SIGNED = 1
_MAGIC = b"UFMO"
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Target:
    """The kind of machine that can run the code.

    Attributes
    ----------
    format : {"elf", "mach-o", "pe"}
    os, machine : str
        ``sys.platform`` and ``platform.machine()`` in lower case.
    libc : str
        ``"glibc 2.35"``: the oldest C library that has every symbol that the code uses; ``""`` if unknown.
    level : str
        ``"baseline"`` for code that runs on every CPU of ``machine``, else the CPU level that it needs.
    python : str
        ABI tag of the Python that an extension module needs (``"cpython-311-x86_64-linux-gnu"``); ``""`` for code
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
    kind : {"ufunc", "plain", "python", "kernel"}
        "plain" is a C function called through cffi, "python" an object of the extension module that the code is,
        "kernel" what a language launches on a grid of threads.
    nin, nout : int
    core : str
        Core signature, ``""`` for element-wise ufuncs.
    identity : {None, 0, 1, -1, "reorderable"}
    parameters, results : tuple of str
        Names of the inputs and outputs, for ``inspect.signature`` and the docstring.
    loops : tuple of LoopCode
        Narrow to wide.
    index : int
        For plain functions and kernels: place in ``__ufm_functions``.
    declaration : str
        For plain functions: the C declarations cffi needs to call it, with ``OWN_TYPES`` where headers define some.
    doc, source, line :
        The comment above it, its text, its line in the cell.
    reason : str
        For plain functions: why it is not a ufunc.
    calls : tuple of str
        Of functions of a device: for each loop the statement that calls the function in device code, with ``{in0}``,
        ``{out0}``, ... for its operands.
    prototype : tuple of str
        Of kernels and plain functions of a device: the result and the parameters as NumPy's type letters and sizes,
        with ``"*"`` for pointers (``"void", "const f4*", "i4"``).
    records : tuple of str
        Where an operand is a structure: for each operand its NumPy dtype as JSON, with the name of its type in C as
        ``"type"``; ``""`` for a number.
    is_def : bool
        Of a ufunc: the module has a function of the name, which is what takes numbers.
    local_arrays : tuple of str
        Arrays of constant size on its stack, which a fault may have overrun: ``"b[64]"``.
    instance : str
        Of a kernel that shares its name with others: which it is, ``"scale<float>"`` or ``"scale(float *)"``.
    """

    name: str
    kind: Literal["ufunc", "plain", "python", "kernel"]
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
    calls: tuple[str, ...] = ()
    prototype: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    is_def: bool = False
    local_arrays: tuple[str, ...] = ()
    instance: str = ""

    @property
    def cores(self) -> list[list[str]]:
        """Core dimensions of each input and output: names, or numbers for fixed sizes."""
        groups = split_core_groups(self.core) or [[]] * (self.nin + self.nout)
        return [[word.removesuffix("?").removesuffix("|1") for word in group] for group in groups]

    @property
    def optional(self) -> frozenset[str]:
        """The core dimensions that arguments may lack."""
        return frozenset(word[:-1] for group in split_core_groups(self.core) for word in group if word.endswith("?"))

    @property
    def broadcast(self) -> list[list[bool]]:
        """Of each input, which of its core dimensions may be 1 instead."""
        return [[word.endswith("|1") for word in group] for group in split_core_groups(self.core)[: self.nin]]

    @property
    def size_operands(self) -> dict[str, int]:
        """The places of the single numbers among the inputs that give sizes of outputs, by the names of these sizes."""
        cores = self.cores
        own = {dim for core in cores[: self.nin] for dim in core}
        used = {name for core in cores[self.nin :] for dim in core for name in find_core_names(dim)} - own
        sizes = {}
        for k, name in enumerate(self.parameters[: self.nin]):
            in_c = name[:-1] if iskeyword(name[:-1]) else name
            if in_c in used and not cores[k]:
                sizes[in_c] = k
        return sizes


@dataclass(frozen=True)
class ObjectCode:
    """Machine code and its metadata.  Frozen, comparable by digest, serialisable.

    ``module`` is the name of the extension module, ``""`` if the code is none; ``preload`` are modules to import before
    it is opened; ``options`` are those that differ from the defaults, to compile the source again; ``device`` is the
    language's data for a device, as JSON.  ``first_line`` is the number of the source's
    first line where it was compiled (`CellPlace`).

    ``header`` is everything but the code, as canonical JSON, and ``code_digest`` the SHA-256 of the code, in
    hexadecimal: computed at once, because a lock around a later computation would not survive a fork.
    """

    code: bytes = field(repr=False)
    target: Target
    functions: tuple[FunctionCode, ...]
    language: str = "c"
    toolchain: str = ""
    source: str = field(default="", repr=False)
    name: str = ""
    threads: bool = False
    module: str = ""
    preload: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    device: Mapping[str, Any] = field(default_factory=dict, repr=False)
    first_line: int = 1
    header: bytes = field(init=False, repr=False)
    code_digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in _HEADER_FIELDS}
        object.__setattr__(self, "header", _canonical(values).encode())
        object.__setattr__(self, "code_digest", hashlib.sha256(self.code).hexdigest())

    @property
    def place(self) -> CellPlace:
        """Where its source stood when it was compiled."""
        return CellPlace(self.name, self.first_line)

    @property
    def digest(self) -> str:
        """SHA-256 of header and code, in hexadecimal."""
        code_digest = bytes.fromhex(self.code_digest)
        return hashlib.sha256(b"%d:%b%b" % (len(self.header), self.header, code_digest)).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ObjectCode) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectCode.from_bytes, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """The wire form, unsigned and of the whole object."""
        return pack(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> ObjectCode:
        """Read a wire form; see `unpack`."""
        return unpack(data)[0]

    @classmethod
    def from_parts(cls, header: bytes, code: bytes, *, code_digest: str = "") -> ObjectCode:
        """Join a header and machine code; a known digest is not computed again.

        Raises
        ------
        TargetError
            If the header does not have the fields of this format.
        """
        return _join(header, code, code_digest or hashlib.sha256(code).hexdigest())[0]


def pack(object_code: ObjectCode, *, entry: str = "", key: bytes = b"") -> bytes:
    """The wire form.

    Parameters
    ----------
    object_code : ObjectCode
    entry : str
        The function to load; ``""`` for the whole object.
    key : bytes
        The key to sign with; without a key, the bytes are not signed.
    """
    header = object_code.header
    if entry:
        header = b'{"entry":%b,%b' % (json.dumps(entry, ensure_ascii=False).encode(), header[1:])
    flags = _SIGNED if key else 0
    head = _HEAD.pack(_MAGIC, FORMAT_VERSION, flags, len(header), len(object_code.code))
    seal = hashlib.sha256(b"".join((head, header, bytes.fromhex(object_code.code_digest)))).digest()
    signature = hmac.digest(key, seal, "sha256") if key else b""
    return b"".join((head, header, object_code.code, seal, signature))


#: Bytes in the code before the digest of its contract (``templates/driver.c``).
_CONTRACT = b"\x7fufm-contract 1:"
#: Fields of a function on which no call depends.  `LoadedObject.prepare_to_send` may omit the source, reports show
#: the others.
_SHOWN_ONLY = frozenset(("doc", "source", "line", "reason"))


def _digest_contract(object_code: ObjectCode) -> bytes:
    """A digest of everything in a header that determines how the code is called."""
    functions = [
        {name: value for name, value in vars(function).items() if name not in _SHOWN_ONLY}
        | {"loops": [(loop.index, loop.types) for loop in function.loops]}
        for function in object_code.functions
    ]
    target = object_code.target
    where = (target.format, target.os, target.machine, target.python)
    what = (object_code.language, object_code.module, object_code.preload, object_code.threads)
    memory = object_code.device.get("memory", ())
    return hashlib.sha256(_canonical((where, what, memory, functions)).encode()).digest()


def add_contract(object_code: ObjectCode) -> ObjectCode:
    """Write a digest of the header's description of calls into the code, for `check_contract`.

    Not on macOS, because a file that is changed after linking has no valid signature any more.
    """
    at = object_code.code.find(_CONTRACT) + len(_CONTRACT)
    if at < len(_CONTRACT) or object_code.target.format == "mach-o":
        return object_code
    code = b"".join((object_code.code[:at], _digest_contract(object_code), object_code.code[at + 32 :]))
    return replace(object_code, code=code)


def check_contract(object_code: ObjectCode) -> None:
    """Raise for a header that was not written for this code: a wrong index or type would crash.

    Raises
    ------
    TargetError
    """
    at = object_code.code.find(_CONTRACT) + len(_CONTRACT)
    digest = object_code.code[at : at + 32]
    if at >= len(_CONTRACT) and any(digest) and not hmac.compare_digest(digest, _digest_contract(object_code)):
        raise TargetError(
            "The object code's header does not belong to its machine code.",
            remedy="Create it again, and get it from where it was created.",
        )


def is_signed(data: bytes) -> bool:
    """Whether a wire form has a signature."""
    return len(data) >= _HEAD.size and bool(_HEAD.unpack_from(data)[2] & _SIGNED)


def unpack(data: bytes, *, key: bytes = b"") -> tuple[ObjectCode, str]:
    """Read a wire form: the object and the name of the function to load, or ``""``.

    Parameters
    ----------
    data : bytes
    key : bytes
        Accept only bytes that are signed with this key; any bytes without a key.

    Raises
    ------
    TargetError
        If the bytes are not object code, have a newer format, are truncated or altered, or are not signed with ``key``.
    """
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise TargetError(
            f"These {len(data)} bytes are not ufunc_magic object code.", remedy="Pass the bytes that dumps() returned."
        )
    _, version, flags, header_length, code_length = _HEAD.unpack_from(data)
    if version != FORMAT_VERSION:
        raise TargetError(
            f"This object code has format {version}; this ufunc_magic reads {FORMAT_VERSION}.",
            remedy="Use the same version of ufunc_magic on both sides.",
        )
    signed = bool(flags & _SIGNED)
    middle = _HEAD.size + header_length
    end = middle + code_length
    if len(data) != end + 32 + 32 * signed:
        raise TargetError("The object code is truncated, or has extra bytes at the end.", remedy="Send it again.")
    view = memoryview(data)
    code = bytes(view[middle:end])
    code_digest = hashlib.sha256(code)
    seal = hashlib.sha256(b"".join((view[:middle], code_digest.digest()))).digest()
    if key and not signed:
        raise TargetError(
            "This object code is not signed, but a key is set here.",
            remedy="Sign it when you create it: set UFUNC_MAGIC_KEY, or call dumps(..., key=...).",
        )
    if not hmac.compare_digest(seal, view[end : end + 32]):
        raise TargetError("The object code was altered.", remedy="Send it again.")
    if key and not hmac.compare_digest(hmac.digest(key, seal, "sha256"), view[end + 32 :]):
        raise TargetError(
            "This object code was signed with another key, or was altered later.",
            remedy="Use the same key on both sides. If you already do, do not load this object code.",
        )
    header = bytes(view[_HEAD.size : middle])
    return _join(header, code, code_digest.hexdigest())


#: The header's fields of ObjectCode.
_HEADER_FIELDS = tuple(
    "target functions language toolchain source name threads module preload options device first_line".split()
)
_FUNCTION_FIELDS = FunctionCode.__dataclass_fields__.keys()
_TEXT_LISTS = ("parameters", "results", "calls", "prototype", "records", "local_arrays")
_texts_of = itemgetter("language", "toolchain", "source", "name", "module")
_function_texts_of = attrgetter("name", "core", "declaration", "doc", "source", "reason", "instance")
_text_lists_of = attrgetter(*_TEXT_LISTS)


def _canonical_value(value: Any) -> dict[str, Any]:
    """The dictionary that json writes for a dataclass; ``asdict`` copies everything in it and takes ten times as long.

    A `CellFunction` has more fields than are sent.
    """
    names = _FUNCTION_FIELDS if isinstance(value, FunctionCode) else value.__dataclass_fields__
    return {name: getattr(value, name) for name in names}


_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_canonical_value
).encode


def _join(header: bytes, code: bytes, code_digest: str) -> tuple[ObjectCode, str]:
    """The object code, and the name of the function to load from the header."""
    try:
        h: dict[str, Any] = json.loads(header.decode())  # json guesses the encoding of bytes, which takes 10 us
        entry = h.get("entry", "")
        target = Target(**h["target"])
        values = {name: h[name] for name in _HEADER_FIELDS}
        values |= {
            "target": target,
            "preload": tuple(h["preload"]),
            "functions": tuple(map(_read_function, h["functions"])),
        }
        _expect(str, _texts_of(h), vars(target).values(), values["preload"], (entry,))
        _expect(dict, (h["options"], h["device"]))
        _expect(bool, (h["threads"],))
        _expect(int, (h["first_line"],))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise TargetError(f"The object code's header cannot be read: {fault!r}.", remedy="Create it again.") from fault
    # The digest is computed from the header's own bytes, without the entry.
    opening = b'{"entry":%b,' % json.dumps(entry, ensure_ascii=False).encode()
    header = b"{" + header.removeprefix(opening) if header.startswith(opening) else header
    return _fill(ObjectCode, values | {"code": code, "header": header, "code_digest": code_digest}), entry


def _fill(kind: type[_Value], values: dict[str, Any]) -> _Value:
    """Make a value with all its fields at once; the ``__init__`` of a frozen class sets them one by one."""
    result = object.__new__(kind)
    vars(result).update(values)
    return result


def _read_function(h: dict[str, Any]) -> FunctionCode:
    """A function of a header."""
    values = h | {name: tuple(h[name]) for name in _TEXT_LISTS}
    values["loops"] = tuple(LoopCode(loop["index"], tuple(loop["types"])) for loop in h["loops"])
    if values.keys() != _FUNCTION_FIELDS:
        raise ValueError(f"a function has the fields {', '.join(values)}")
    result = _fill(FunctionCode, values)
    _check(result)
    return result


def _check(function: FunctionCode) -> None:
    """Raise for a function that another program has written wrongly, before NumPy uses it."""
    _expect(str, _function_texts_of(function), *_text_lists_of(function))
    _expect(int, (function.nin, function.nout, function.index, function.line))
    _expect(bool, (function.is_def,))
    kinds = ("ufunc", "plain", "python", "kernel")
    if function.kind not in kinds or function.identity not in (None, 0, 1, -1, "reorderable"):
        raise ValueError(f"{function.name} is of kind {function.kind!r}, with identity {function.identity!r}")
    operands = function.nin + function.nout
    if function.nin < 0 or function.nout < 0 or operands > MAX_OPERANDS or function.index < -1:
        raise ValueError(
            f"{function.name} has {function.nin} inputs, {function.nout} outputs, and index {function.index}"
        )
    known = TYPES.keys() | ({RECORD} if function.records else set())
    for loop in function.loops:
        _expect(int, (loop.index,), loop.types)
        if loop.index < 0 or len(loop.types) != operands or not known >= set(loop.types):
            raise ValueError(f"{function.name} has the loop {loop}")
    if function.records and (
        len(function.records) != operands
        or len(function.loops) != 1
        or [bool(record) for record in function.records] != [t == RECORD for t in function.loops[0].types]
    ):
        raise ValueError(f"{function.name} has the structures {function.records}")


def _expect(kind: type, *lists: Iterable[Any]) -> None:
    """Raise unless every value in all ``lists`` has exactly the type ``kind``."""
    if not {kind}.issuperset(map(type, chain.from_iterable(lists))):
        raise TypeError(f"{[*map(list, lists)]!r:.200} should hold {kind.__name__} only")


def find_required_glibc(code: bytes) -> str:
    """The newest GLIBC symbol version that an ELF object asks for, ``"glibc 2.35"``, or ``""``.

    Read from the version-needs strings (gABI ``.gnu.version_r``), which name each one in full.
    """
    versions = {tuple(map(int, v.split(b"."))) for v in re.findall(rb"GLIBC_(2(?:\.\d+)+)\0", code)}
    return f"glibc {'.'.join(map(str, max(versions)))}" if versions else ""
