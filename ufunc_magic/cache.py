"""The content-addressed store of compiled cells.  The only module that writes files.

Layout, a format that outlives releases::

    keys/<key>                 one line "ufunc_magic 1 <key> <sha256 of the code> <sha256 of the record>",
                               then the record
    code/<aa>/<digest>.so      machine code, opened in place; aa are the digest's first two letters
    facts/<sha256 of name>     one line as in keys/, then the value
    storage/<name>/            what compilers keep for themselves (zig's runtime)
    scratch/                   private folders of compilations under way

No lock is ever taken.  A file is written beside its place and renamed into it, so that readers see a
whole file or none; every reader compares digests, so that a file that a crash of the machine has
truncated is as good as absent (which is why nothing waits for fsync: 1-30 ms per new cell).
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import hmac
import os
import re
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import platformdirs

from .errors import CacheError

__all__ = ["Cache", "CacheWarning", "Entry", "default", "key"]

_T = TypeVar("_T")

_MAGIC = "ufunc_magic 1"
#: Before a seal that is a signature.
_SIGNED = "hmac:"
_LIMIT = 1 << 30
#: Bytes published between two looks at the size of the whole.
_LOOK_EVERY = 32 << 20
#: Nanoseconds for which a file is safe from eviction: somebody may be about to open it.
_GRACE = 60 * 10**9
_STALE = 24 * 3600 * 10**9


class CacheWarning(UserWarning):
    """The cache folder cannot be used; compiled cells last only as long as this process."""


@dataclass(frozen=True)
class Entry:
    """One stored object.

    ``library`` is the file to open, ``code`` its bytes, ``digest`` their sha256, ``record`` what the
    publisher wrote about them.
    """

    key: str
    digest: str
    library: Path
    record: bytes = field(repr=False)
    code: bytes = field(repr=False)

    def copy_to(self, path: Path) -> Path:
        """Write the code to a file of its own, for a linker that goes by file names."""
        path.write_bytes(self.code)
        return path


def key(parts: Iterable[bytes | str]) -> str:
    """Digest ``parts``, each with its length, so that no two different lists give the same key."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        # Text and bytes of the same content are different parts.
        total.update(b"%c%d:" % (b"s" if isinstance(part, str) else b"b", len(data)))
        total.update(data)
    return total.hexdigest()


class Cache:
    """A folder of compiled cells.

    Parameters
    ----------
    path : path
        The folder; made, for this user only, when something is first written.
    limit : int
        Bytes; the least recently used objects go when there are more.

    Notes
    -----
    A folder that is a symbolic link, belongs to somebody else or can be written by everybody is not
    used at all: whoever can write there could have this process open a library.  One that cannot be
    written is read.  In both cases new objects go to a private folder that ends with the process.
    """

    def __init__(self, path: str | os.PathLike[str], *, limit: int = _LIMIT) -> None:
        self.path = Path(os.path.abspath(os.path.expanduser(path)))
        self.limit = limit
        self._private: Path | None = None
        self._published = _LOOK_EVERY

    def __repr__(self) -> str:
        where = f", writing to {self._private}" if self._private else ""
        objects = len(self.entries())
        used = f"{self.size() / 1e6:.1f} of {self.limit / 1e6:.0f} MB"
        return f"<Cache {self.path}{where}: {objects} object{'s' * (objects != 1)}, {used}>"

    # ------------------------------------------------------------------------------------ objects

    def get(self, key: str) -> Entry | None:
        """The object stored under ``key``, or None where there is none that is whole.

        Digests of the code and of the record are checked; what fails is removed.
        """
        for root in self._readable():
            if entry := _read_entry(root, key):
                return entry
        return None

    def publish(self, key: str, *, record: bytes, code: bytes | Path, replace: bool = False) -> Entry:
        """Store an object.

        Parameters
        ----------
        key : str
        record : bytes
            Whatever describes the code; returned by `get` as it is.
        code : bytes or Path
            Machine code, or the file that holds it.
        replace : bool
            Let ``key`` stand for this object even if it has a whole one already.  The file of the
            former object stays as it is.

        Returns
        -------
        Entry
            The object now stored under ``key``: an earlier or a concurrent publisher's, unless
            ``replace``.

        Raises
        ------
        CacheError
            If not even the private folder can be written.
        """
        if not replace and (entry := self.get(key)):
            return entry
        data = code if isinstance(code, bytes) else code.read_bytes()
        entry = self._write(lambda root: _write_entry(root, key, record, data))
        self._published += len(data) + len(record)
        if self._published >= min(_LOOK_EVERY, self.limit // 8):
            self._published = 0
            self._evict(self.limit, spare=entry.library)
        return entry

    def remember(self, name: str, value: str) -> None:
        """Keep a small named fact, such as what a compiler said of itself."""
        data = value.encode()
        head = key([name])
        self._write(lambda root: _place(root / "facts" / head, _sealed(head, "-", data)))

    def recall(self, name: str) -> str | None:
        """The fact remembered under ``name``."""
        head = key([name])
        for root in self._readable():
            if opened := _unsealed(root / "facts" / head, head):
                return opened[1].decode()
        return None

    # ------------------------------------------------------------------------------------ folders

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A private folder inside the cache, removed with all it holds on leaving."""
        folder = self._write(_make_scratch)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def write_scratch(path: Path, text: str) -> Path:
        """Write a text into a `scratch` folder, where a compiler wants a file."""
        path.write_text(text, encoding="utf-8", newline="\n")
        return path

    def storage(self, name: str) -> Path:
        """A folder that stays, for what a compiler keeps for itself; not counted in the limit."""
        return self._write(lambda root: _folder(root / "storage" / name))

    # ---------------------------------------------------------------------------------- the whole

    def entries(self) -> tuple[tuple[Path, int], ...]:
        """Files of machine code with their sizes, least recently used first."""
        files = (file for root in self._readable() for file in _files(root))
        return tuple((Path(path), size) for _, path, size in sorted(files) if path.endswith(".so"))

    def size(self) -> int:
        """Bytes of all that counts towards the limit."""
        return sum(size for root in self._readable() for _, _, size in _files(root))

    def prune(self, max_bytes: int) -> int:
        """Remove the least recently used objects until at most ``max_bytes`` are left; return bytes removed."""
        if max_bytes < 0:
            raise CacheError(f"max_bytes={max_bytes} is negative.", remedy="Give a number of bytes, or use clear().")
        return self._evict(max_bytes)

    def clear(self) -> int:
        """Remove every object, fact and storage folder; return bytes of objects removed.

        Libraries that are open stay usable.
        """
        removed = self._evict(0)
        for root in self._readable():
            for name in ("facts", "storage"):
                shutil.rmtree(root / name, ignore_errors=True)
        return removed

    def _evict(self, limit: int, *, spare: Path | None = None) -> int:
        """Remove files beyond ``limit``, but nothing used within a minute of ``spare``'s publishing."""
        removed = 0
        for root in self._readable():
            files = list(_files(root))
            # The file system's own time: clocks of machines that share it differ.
            now = _modified(spare) if spare else max((used for used, _, _ in files), default=0)
            # What claims to be of the future was used before the clock was set back.
            files.sort(key=lambda file: (file[0] if file[0] < now + _GRACE else 0, file[1]))
            excess = sum(size for _, _, size in files) - limit
            for used, path, size in files:
                if excess <= 0:
                    break
                if spare and abs(now - used) < _GRACE:
                    continue
                with contextlib.suppress(OSError):  # read-only, or open under Windows: it stays
                    os.unlink(path)
                    excess, removed = excess - size, removed + size
            _sweep(root / "scratch", now - _STALE)
        return removed

    # -------------------------------------------------------------------------------------- roots

    def distrust(self) -> str:
        """Why the folder is not safe to use, or ``""``."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return ""
        if stat.S_ISLNK(status.st_mode):
            return "is a symbolic link"
        if not stat.S_ISDIR(status.st_mode):
            return "is not a folder"
        if os.name == "posix" and status.st_uid != os.geteuid():
            return "belongs to another user"
        if os.name == "posix" and status.st_mode & stat.S_IWOTH:
            return "can be written by everybody"
        return ""

    def _readable(self) -> list[Path]:
        roots = [] if self.distrust() else [self.path]
        return [*roots, self._private] if self._private else roots

    def _write(self, action: Callable[[Path], _T]) -> _T:
        """Do ``action`` in the folder or, where that fails, from then on in a private one."""
        if self._private is None:
            try:
                os.makedirs(self.path, mode=0o700, exist_ok=True)
                if not (fault := self.distrust()):
                    return action(self.path)
            except OSError as error:
                fault = self.distrust() or f"cannot be written ({error.strerror or error})"
            self._private = _private_folder()
            warnings.warn(
                f"The cache folder {self.path} {fault}: compiled cells last only as long as this process. "
                "Set UFUNC_MAGIC_CACHE to a folder of your own.",
                CacheWarning,
                stacklevel=4,
            )
        try:
            return action(self._private)
        except OSError as error:
            raise CacheError(
                f"{self._private} cannot be written ({error.strerror or error}), nor can {self.path}.",
                remedy="Free some disk space, or set UFUNC_MAGIC_CACHE or TMPDIR to a folder that can be written.",
            ) from error


# ------------------------------------------------------------------------------------------ default

_default: tuple[tuple[str, str], Cache] | None = None


def default() -> Cache:
    """The cache in use: ``UFUNC_MAGIC_CACHE``, else the user's cache folder; ``UFUNC_MAGIC_CACHE_MAX`` limits it.

    Raises
    ------
    CacheError
        If the limit is not a number of bytes, with K, M or G behind it or not.
    """
    global _default
    settings = (os.environ.get("UFUNC_MAGIC_CACHE", ""), os.environ.get("UFUNC_MAGIC_CACHE_MAX", ""))
    if _default is None or _default[0] != settings:
        path = settings[0] or platformdirs.user_cache_dir("ufunc_magic", appauthor=False)
        _default = settings, Cache(path, limit=_bytes(settings[1]) if settings[1] else _LIMIT)
    return _default[1]


def _bytes(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.I)
    if not found:
        raise CacheError(f"UFUNC_MAGIC_CACHE_MAX={text!r} is not a size.", remedy="Give bytes, or 500M, or 2G.")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


# -------------------------------------------------------------------------------------------- files


def _read_entry(root: Path, key: str) -> Entry | None:
    name = root / "keys" / key
    if not (opened := _unsealed(name, key)):
        return None
    digest, record = opened
    library = _library(root, digest)
    if (read := _read(library)) is None:
        return None
    code, status = read
    if hashlib.sha256(code).hexdigest() != digest:
        _discard(library, status)
        return None
    for path in (library, name):
        with contextlib.suppress(OSError):  # a read-only cache has no order of use
            os.utime(path)
    return Entry(key, digest, library, record, code)


def _write_entry(root: Path, key: str, record: bytes, code: bytes) -> Entry:
    digest = hashlib.sha256(code).hexdigest()
    library = _library(root, digest)
    # A whole file is left alone: it may be open somewhere.  A broken one is replaced, never written to.
    if (read := _read(library)) and read[0] == code:
        os.utime(library)
    else:
        _place(library, code)
    # The object first: a key never stands for an object that is not there yet.
    _place(root / "keys" / key, _sealed(key, digest, record))
    return Entry(key, digest, library, record, code)


def _library(root: Path, digest: str) -> Path:
    return root / "code" / digest[:2] / f"{digest}.so"


def _sealed(name: str, digest: str, value: bytes) -> bytes:
    return f"{_MAGIC} {name} {digest} {_seal(name, digest, value)}\n".encode() + value


def _seal(name: str, digest: str, value: bytes) -> str:
    """What tells a whole file from a torn one and, with ``UFUNC_MAGIC_KEY``, ours from anybody's."""
    key = os.environ.get("UFUNC_MAGIC_KEY", "")
    if not key:
        return hashlib.sha256(value).hexdigest()
    # The digest is that of the code: who cannot sign cannot have another object opened.
    return _SIGNED + hmac.digest(key.encode(), f"{name} {digest} ".encode() + value, "sha256").hex()


def _unsealed(path: Path, name: str) -> tuple[str, bytes] | None:
    """Digest and value of a sealed file; None where it is absent, or is not whole or not ``name``'s."""
    if (read := _read(path)) is None:
        return None
    content, status = read
    head, _, value = content.partition(b"\n")
    digest = head.split(b" ")[3].decode(errors="replace") if head.count(b" ") == 4 else ""
    if content != _sealed(name, digest, value) or not re.fullmatch(r"[0-9a-f]{64}|-", digest):
        # Signed by others, or not signed, is no reason to take it from who can use it.
        if (_SIGNED.encode() in head) == bool(os.environ.get("UFUNC_MAGIC_KEY")):
            _discard(path, status)
        return None
    return digest, value


def _read(path: Path) -> tuple[bytes, os.stat_result] | None:
    try:
        with open(path, "rb") as file:
            return file.read(), os.fstat(file.fileno())
    except OSError:
        return None


def _modified(path: Path) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_mtime_ns
    return 0


def _discard(path: Path, read: os.stat_result) -> None:
    """Remove a broken file, unless another process has put a whole one there since it was read."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.stat(path), read):
            os.unlink(path)


def _place(path: Path, content: bytes) -> None:
    """Make ``path`` hold ``content``, at once and whole."""
    descriptor, beside = tempfile.mkstemp(prefix=".", dir=_folder(path.parent))
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except BaseException:  # an interrupt too must leave nothing behind
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _folder(path: Path) -> Path:
    # Every level is made for this user only; os.makedirs would do so for the last alone.
    missing = [path]
    while not missing[-1].parent.is_dir():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def _make_scratch(root: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=_folder(root / "scratch")))


def _private_folder() -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="ufunc_magic-"))
    except OSError as error:
        raise CacheError(
            f"No folder for compiled cells can be made: {error}.", remedy="Set TMPDIR to a folder that can be written."
        ) from error
    owner = os.getpid()
    # A forked child that ends in the ordinary way must not take its parent's folder along.
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return folder


def _files(root: Path) -> Iterator[tuple[int, str, int]]:
    """Time of last use, path and size of every file that counts."""
    pending = [str(root / "keys"), str(root / "code")]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as listing:
            for item in listing:
                if item.is_dir(follow_symlinks=False):
                    pending.append(item.path)
                    continue
                with contextlib.suppress(FileNotFoundError):  # another process evicts as well
                    status = item.stat(follow_symlinks=False)
                    yield status.st_mtime_ns, item.path, status.st_size


def _sweep(scratch: Path, before: int) -> None:
    """Remove what killed compilations have left."""
    with contextlib.suppress(OSError), os.scandir(scratch) as listing:
        for item in listing:
            with contextlib.suppress(FileNotFoundError):
                if item.stat(follow_symlinks=False).st_mtime_ns < before:
                    shutil.rmtree(item.path, ignore_errors=True)
