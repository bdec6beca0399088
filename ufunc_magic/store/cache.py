"""The content-addressed store of compiled cells.  With its family, the only module that writes files.

Layout, a format that outlives releases::

    keys/<key>                 one line "ufunc_magic 2 <key> <sha256 of the code> <sha256 of the record>",
                               then the record
    keys/<key>.files           one line as in keys/, then JSON: the files that compilers read for the key, one record
                               for each object; an object's key is `Inputs.name` of the record
    code/<aa>/<digest>.so      machine code, opened in place; aa are the digest's first two letters
    facts/<sha256 of name>     one line as in keys/, then JSON: the value, and size and time of files it depends on
    storage/<name>/            compilers' own files (zig's runtime, precompiled headers of gcc)
    scratch/                   private folders of compilations under way

No lock is taken.  Readers see a whole file or none.  Every reader compares digests, so a file that a crash of the
machine has truncated counts as absent; therefore nothing waits for fsync, which takes 1-30 ms per new cell.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from ..model import CacheError, UfuncMagicError
from . import atomic_file, manifest, paths
from .manifest import Inputs

_T = TypeVar("_T")

_LIMIT = 1 << 30
#: Bytes published between two checks of the total size.
_LOOK_EVERY = 32 << 20
#: Nanoseconds for which a file is safe from eviction: a process may be about to open it.
_GRACE = 60 * 10**9
_REMEDIES = {
    "is writable by everybody": "Run chmod 700 on it, or set UFUNC_MAGIC_CACHE to a folder of your own.",
    "is not writable (No space left on device)": "Free some disk space, or set UFUNC_MAGIC_CACHE to another disk.",
}
_REMEDY = "Set UFUNC_MAGIC_CACHE to a folder of your own."


class CacheWarning(UserWarning):
    """The cache folder cannot be used; compiled cells are lost when this process ends."""


@dataclass(frozen=True)
class Entry:
    """One stored object.

    ``library`` is the file to open, ``code`` its bytes, ``digest`` their sha256, ``record`` the publisher's
    description.
    """

    key: str
    digest: str
    library: Path
    record: bytes = field(repr=False)
    code: bytes = field(repr=False)

    def copy_to(self, path: Path) -> Path:
        """Write the code to a file of its own, for a linker that needs a file name."""
        with _report_unwritable(path):
            path.write_bytes(self.code)
        return path


def _read_entry(root: Path, key: str) -> Entry | None:
    """The object under ``key``, or None if its files are broken; broken files are removed."""
    name = root / "keys" / key
    if not (opened := atomic_file.unseal(name, key)):
        return None
    digest, record = opened
    library = _make_library_path(root, digest)
    # Anyone who can write there can have put another object under the key.
    if any(map(paths.find_fault, (name.parent, library.parent.parent, library.parent))):
        return None
    if (file := atomic_file.read(library)) is None:
        return None
    code, status = file
    if hashlib.sha256(code).hexdigest() != digest:
        atomic_file.discard(library, status)
        return None
    for path in (library, name):
        with contextlib.suppress(OSError):  # a read-only cache has no order of use
            os.utime(path)
    return Entry(key, digest, library, record, code)


def _write_entry(root: Path, key: str, record: bytes, code: bytes) -> Entry:
    """Store an object under ``key``, in place of an earlier one."""
    digest = hashlib.sha256(code).hexdigest()
    library = _make_library_path(root, digest)
    for fresh in (True, False):
        # An intact file is kept, because it may be open.  A broken one is replaced, never written to.
        if (file := atomic_file.read(library)) and file[0] == code:
            os.utime(library)
            break
        if atomic_file.place(library, code, fresh=fresh):
            break
    # The object first: a key never names an object that does not exist yet.
    atomic_file.place(root / "keys" / key, atomic_file.seal(key, digest, record))
    return Entry(key, digest, library, record, code)


def _make_library_path(root: Path, digest: str) -> Path:
    return root / "code" / digest[:2] / f"{digest}.so"


@contextlib.contextmanager
def _report_unwritable(path: Path) -> Iterator[None]:
    """Raise CacheError, with a remedy, if a file cannot be written."""
    try:
        yield
    except OSError as error:
        room = "Free some disk space, or set UFUNC_MAGIC_CACHE to a folder of your own; then run the cell again."
        raise CacheError(
            f"{path} is not writable ({error.strerror or error}).",
            remedy=room if path.parent.is_dir() else f"Create the folder {path.parent}, or run the cell again.",
        ) from error


def _make_removed_error(folder: Path) -> CacheError:
    return CacheError(
        f"Another program has removed {folder} while it was in use.",
        remedy="Run the cell again, or set UFUNC_MAGIC_CACHE to a folder of your own.",
    )


def make_key(parts: Iterable[bytes | str]) -> str:
    """Digest ``parts``, each with its length, so that no two different lists give the same key."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        # Text and bytes with the same content are different parts.
        total.update(b"%c%d:" % (b"s" if isinstance(part, str) else b"b", len(data)))
        total.update(data)
    return total.hexdigest()


class Cache:
    """A folder of compiled cells.

    Parameters
    ----------
    path : path
        The folder; created for this user only, on the first write.
    limit : int
        Size limit in bytes; beyond it, the least recently used objects are removed.

    Notes
    -----
    A folder that is a symbolic link, belongs to another user or is writable by everybody is not used: anyone who can
    write there could make this process load a library.  A folder from which the system loads no libraries is not used,
    either.  A folder that is not writable is only read.  In all these cases, new objects go to a private folder that is
    removed when the process ends.
    """

    def __init__(self, path: str | os.PathLike[str], *, limit: int = _LIMIT) -> None:
        try:
            self.path = Path(os.path.abspath(os.path.expanduser(path)))
        except FileNotFoundError:
            fault = f"The cache folder {os.fspath(path)!r} is relative to a working folder that no longer exists."
            raise CacheError(fault, remedy=_REMEDY) from None
        self.limit = limit
        self._private: Path | None = None
        self._warned = False
        self._published = _LOOK_EVERY

    def __repr__(self) -> str:
        where = f", writing to {self._private}" if self._private else ""
        objects = len(self.list_entries())
        used = f"{self.size() / 1e6:.1f} of {self.limit / 1e6:.0f} MB"
        return f"<Cache {self.path}{where}: {objects} object{'s' * (objects != 1)}, {used}>"

    # ------------------------------------------------------------------------------------ objects

    def get(self, key: str) -> Entry | None:
        """The object stored under ``key``, or None if there is none or it is broken.

        Checks the digests of the code and the record, and removes a broken object.
        """
        for root in self._list_readable():
            if entry := _read_entry(root, key):
                return entry
        return None

    def find(self, key: str) -> tuple[Entry, Inputs] | None:
        """The object stored under ``key`` whose files are as its compiler read them, with these files; or None."""
        if entry := self.get(key):
            return entry, Inputs()
        snapshot = manifest.Snapshot()
        for root in self._list_readable():
            for inputs in manifest.read(root, key):
                if inputs.hold(snapshot) and (entry := self.get(inputs.name(key))):
                    manifest.touch(root, key)
                    return entry, inputs
        return None

    def publish_inputs(
        self, key: str, inputs: Inputs | None, *, record: bytes, code: bytes, replace: bool = False
    ) -> Entry:
        """Store an object that `find` returns under ``key`` while its ``inputs`` hold; never, if they are None."""
        if inputs is None:
            return self.publish(os.urandom(32).hex(), record=record, code=code)
        name = inputs.name(key)
        entry = self.publish(name, record=record, code=code, replace=replace)
        if name != key:
            self._write(lambda root: manifest.add(root, key, inputs))
        return entry

    def publish(self, key: str, *, record: bytes, code: bytes, replace: bool = False) -> Entry:
        """Store an object.

        Parameters
        ----------
        key : str
        record : bytes
            A description of the code; `get` returns it unchanged.
        code : bytes
            Machine code.
        replace : bool
            Store this object even if ``key`` has an intact one.  The file of the former object stays as it is.

        Returns
        -------
        Entry
            The object now stored under ``key``: an earlier or a concurrent publisher's, unless
            ``replace``.

        Raises
        ------
        CacheError
            If even the private folder is not writable.
        """
        if not replace and (entry := self.get(key)):
            return entry
        entry = self._write(lambda root: _write_entry(root, key, record, code))
        self._published += len(code) + len(record)
        if self._published >= min(_LOOK_EVERY, self.limit // 8):
            self._published = 0
            self._evict(self.limit, grace=_GRACE)
        return entry

    def remember(self, name: str, value: Any, *, files: Iterable[str] = ()) -> None:
        """Store a small named fact, such as a compiler's version: a value in JSON's types.

        The fact is forgotten when one of ``files`` changes its size or time.
        """
        now = manifest.Snapshot()
        data = json.dumps([value, [(path, now.read_stamp(path)) for path in files]]).encode()
        head = make_key([name])
        self._write(lambda root: atomic_file.place(root / "facts" / head, atomic_file.seal(head, "-", data)))

    def recall(self, name: str) -> Any:
        """The fact stored under ``name``; None if there is none, or if a file of it has changed."""
        head, now = make_key([name]), manifest.Snapshot()
        for root in self._list_readable():
            # Facts name the programs that compilers start.
            if paths.find_fault(root / "facts"):
                continue
            if opened := atomic_file.unseal(root / "facts" / head, head):
                value, files = json.loads(opened[1])
                return value if all(now.read_stamp(path) == (stamp and tuple(stamp)) for path, stamp in files) else None
        return None

    # ------------------------------------------------------------------------------------ folders

    @contextlib.contextmanager
    def open_scratch(self) -> Iterator[Path]:
        """A private folder inside the cache; removed with its contents at the end of the block."""
        folder = self._write(self._make_scratch)
        try:
            yield folder
        finally:
            paths.remove(folder)

    def try_in_scratch(self) -> Iterator[contextlib.AbstractContextManager[Path]]:
        """Give a block of `open_scratch`, and a second one where the first failed because its folder was removed.

        Raises
        ------
        CacheError
            If the second folder was removed, too.
        """
        done = list[Path]()
        for last in (False, True):
            if not done:
                yield self._open_attempt(done, last=last)

    @contextlib.contextmanager
    def _open_attempt(self, done: list[Path], *, last: bool) -> Iterator[Path]:
        with self.open_scratch() as folder:
            try:
                yield folder
                done.append(folder)
            except (UfuncMagicError, OSError) as fault:
                if folder.is_dir():
                    raise
                if last:
                    raise _make_removed_error(folder) from fault

    @staticmethod
    def write_scratch(path: Path, text: str) -> Path:
        """Write a text into a folder of `open_scratch`, for a compiler that needs a file."""
        with _report_unwritable(path):
            path.write_text(text, encoding="utf-8", newline="\n")
        return path

    def open_storage(self, name: str) -> Path:
        """A permanent folder for a compiler's own files; it does not count towards the limit."""
        return self._write(lambda root: paths.make_own_folder(root, "storage", name))

    def move_to_storage(self, name: str, files: Iterable[Path], *, most: int) -> list[Path]:
        """Move files of a folder of `open_scratch` into one of `open_storage`, whole.

        The oldest of more than ``most`` go.
        """
        return self._write(
            lambda root: atomic_file.move(files, paths.make_own_folder(root, "storage", name), most=most)
        )

    # ---------------------------------------------------------------------------------- the whole

    def list_entries(self) -> tuple[tuple[Path, int], ...]:
        """Files of machine code with their sizes, least recently used first."""
        files = (file for root in self._list_readable() for file in atomic_file.list_files(root))
        return tuple((Path(path), size) for _, path, size in sorted(files) if path.endswith(".so"))

    def size(self) -> int:
        """Size in bytes of everything that counts towards the limit."""
        return sum(size for root in self._list_readable() for _, _, size in atomic_file.list_files(root))

    def prune(self, max_bytes: int) -> int:
        """Remove the least recently used objects until at most ``max_bytes`` are left; return bytes removed."""
        if max_bytes < 0:
            raise CacheError(f"max_bytes={max_bytes} is negative.", remedy="Pass a number of bytes, or use clear().")
        return self._evict(max_bytes)

    def clear(self) -> int:
        """Remove every object, fact and file in storage folders; return bytes of objects removed.

        Open libraries stay usable.  What compilers wrote in storage folders just now stays: others may be at it.
        """
        removed = self._evict(0)
        for root in self._list_readable():
            paths.remove(root / "facts")
            atomic_file.remove_old(root / "storage", paths.read_time(root) - _GRACE)
        return removed

    def _evict(self, limit: int, *, grace: int = 0) -> int:
        """Remove files beyond ``limit``, but nothing used within the last ``grace`` nanoseconds."""
        removed = 0
        for root in self._list_readable():
            if not (now := paths.read_time(root)):
                continue  # read-only
            atomic_file.sweep(root, now)
            files = sorted(atomic_file.list_files(root))
            excess = sum(size for _, _, size in files) - limit
            for used, path, size in files:
                if excess <= 0:
                    break
                if abs(now - used) < grace:
                    continue
                with contextlib.suppress(OSError):  # open under Windows: it stays
                    os.unlink(path)
                    excess, removed = excess - size, removed + size
        return removed

    # -------------------------------------------------------------------------------------- roots

    def distrust(self) -> str:
        """Why the folder is not safe to use, or ``""``."""
        return paths.find_fault(self.path)

    def _list_readable(self) -> list[Path]:
        roots = [self.path, *([self._private] if self._private else [])]
        return [root for root in roots if not paths.find_fault(root)]

    def _write(self, action: Callable[[Path], _T]) -> _T:
        """Do ``action`` in the folder; if that fails, from then on in a private folder."""
        if self._private is None:
            try:
                return paths.persist(action, self.path)
            except OSError as error:
                self._give_up(self.distrust() or f"is not writable ({error.strerror or error})")
        try:
            return paths.persist(action, self._get_private())
        except OSError as error:
            raise CacheError(
                f"{self._private} is not writable ({error.strerror or error}), nor can {self.path}.",
                remedy="Free some disk space, or set UFUNC_MAGIC_CACHE or TMPDIR to a writable folder.",
            ) from error

    def _give_up(self, fault: str) -> None:
        """From now on write to a private folder, and warn once."""
        self._get_private()
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The cache folder {self.path} {fault}: compiled cells are lost when this process ends. "
                f"{_REMEDIES.get(fault, _REMEDY)}",
                CacheWarning,
                stacklevel=5,
            )

    def _get_private(self) -> Path:
        """The private folder; a new one if the system has removed it."""
        folder = self._private
        if folder is None or not folder.is_dir() or paths.find_fault(folder):
            folder = self._private = paths.make_private_folder()
        return folder

    def _make_scratch(self, root: Path) -> Path:
        folder = paths.make_own_folder(root, "scratch")
        # A compiler that runs out of space stops with a message of its own, or in the middle of it.
        if root == self.path and not paths.has_room(folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return Path(tempfile.mkdtemp(dir=folder))


# ------------------------------------------------------------------------------------------ default

_default: tuple[tuple[str, str], Cache] | None = None


def open_default() -> Cache:
    """The cache in use: ``UFUNC_MAGIC_CACHE``, else the user's cache folder; ``UFUNC_MAGIC_CACHE_MAX`` limits it.

    Raises
    ------
    CacheError
        If the limit is not a number of bytes, or a size such as 500M.
    """
    global _default
    settings = (os.environ.get("UFUNC_MAGIC_CACHE", ""), os.environ.get("UFUNC_MAGIC_CACHE_MAX", ""))
    if _default is None or _default[0] != settings:
        path = settings[0] or platformdirs.user_cache_dir("ufunc_magic", appauthor=False)
        _default = (
            settings,
            Cache(path, limit=read_size(settings[1], name="UFUNC_MAGIC_CACHE_MAX") if settings[1] else _LIMIT),
        )
    return _default[1]


def read_size(text: str, *, name: str) -> int:
    """The bytes of a size such as ``500M``; ``name`` is the setting, for errors.

    Raises
    ------
    CacheError
        If it is not a number of bytes, or a size such as 500M.
    """
    match = re.fullmatch(r"\s*(\d[\d_]*(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.I)
    if not match:
        raise CacheError(
            f"{name} {text!r} is not a size.", remedy="Write a number of bytes, or a size such as 500M or 2G."
        )
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))
