"""Faults of the cache folder, each tried on a folder of its own, and what came of them.

``rows()`` gives the rows of the table in ``docs/reliability.md``; as a program, this file tries faults in forked
children and prints what came of each as a line of JSON::

    python benchmarks/faults/cache.py FOLDER [FAULT ...]

``UFM_NIGHTLY=1`` tries more of each.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import ctypes
import errno
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import ufunc_magic as um
from ufunc_magic import pipeline
from ufunc_magic.cells import frontend
from ufunc_magic.languages.c import c_unit as _unit  # noqa: F401 - once for all children
from ufunc_magic.store.cache import Cache, CacheWarning, make_key

NIGHTLY = os.environ.get("UFM_NIGHTLY") == "1"
SHOW = os.environ.get("UFM_SHOW", "").split()
CELL = "double f(double x) { return 3 * x + 1; }"
CODE = b"\x7fELF" + bytes(range(256)) * 100
K = make_key(["a cell"])


@dataclass(frozen=True)
class Came:
    """What came of a fault.

    Attributes
    ----------
    fault : str
    right, refused, killed : int
        Tries that gave right results; that ended in an error of ours; that were killed, as the fault wants.
    wrong, unhandled, left : int
        Wrong results; errors that are not ours; files, folders and processes that nobody removes.
    worst : str
        The first that should not have been.
    """

    fault: str
    right: int = 0
    refused: int = 0
    killed: int = 0
    wrong: int = 0
    unhandled: int = 0
    left: int = 0
    worst: str = ""
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"not tried: {self.skipped}"
        words = [f"{self.right} right results"]
        words += [f"{self.killed} killed"] if self.killed else []
        words += [f"{self.refused} refused with a remedy"] if self.refused else []
        return f"{', '.join(words)}; {self.wrong} wrong, {self.unhandled} unhandled, {self.left} left over"


def rows(names: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Every fault, or those of ``names``, with what came of it in words."""
    for came in tried(names):
        yield came.fault, str(came)


def tried(names: Iterable[str] = ()) -> list[Came]:
    """Every fault, or those of ``names``, tried in a process of its own that forks."""
    root = Path(__file__).parent.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("UFUNC_MAGIC_CACHE", "UFUNC_MAGIC_CACHE_MAX", "UFUNC_MAGIC_KEY"):
            environment.pop(name, None)
        command = [sys.executable, "-P", __file__, folder, *names]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return [Came(**json.loads(line)) for line in done.stdout.splitlines()]


# ------------------------------------------------------------------------------------------- children


@dataclass(frozen=True)
class Child:
    """A forked process that sends a word about itself."""

    number: int
    pipe: int

    def verdict(self) -> str:
        with open(self.pipe, encoding="utf-8") as file:
            said = file.read()
        _, status = os.waitpid(self.number, 0)
        return said or ("killed" if os.WIFSIGNALED(status) else f"unhandled: status {status} and no word")


def start(action: Callable[[], object], *, before: Callable[[], object] = lambda: None) -> Child:
    """Fork a child that does ``before``, then ``action``, and says what came of it."""
    reading, writing = os.pipe()
    number = os.fork()
    if number:
        os.close(writing)
        return Child(number, reading)
    os.close(reading)
    signal.alarm(120)
    before()
    said = judged(action)
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    os.write(writing, said.encode(errors="replace")[:60000])
    os._exit(0)


def judged(action: Callable[[], object]) -> str:
    """``right``, ``wrong: ...``, ``refused: ...`` or ``unhandled: ...``."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            came = action()
        notes = [w for w in caught if issubclass(w.category, CacheWarning)]
    except um.UfuncMagicError as error:
        return f"refused: {type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - whatever it is, it is the finding
        return f"unhandled: {traceback.format_exc()}"
    if len(notes) > 1:
        return f"wrong: {len(notes)} warnings where one is enough: {notes[0].message}"
    return "right" if came is None or came is True else f"wrong: {came}"


class Tally:
    """Verdicts as they come in."""

    def __init__(self, fault: str) -> None:
        self._came = Came(fault)

    def count(self, verdict: str, *, at: str = "", where: str = "") -> str:
        kind = verdict.partition(":")[0]
        values = asdict(self._came)
        values[kind] += 1
        if kind in ("wrong", "unhandled", "left", *SHOW) and not values["worst"]:
            values["worst"] = f"{at or where}: {verdict}"
        self._came = Came(**values)
        return kind

    def done(self) -> Came:
        return self._came


def builds() -> object:
    """Build the cell as a user does, and compare."""
    f = um.compile_c(CELL).f
    x = np.arange(5.0)
    return True if np.array_equal(f(x), 3 * x + 1) else f"{f(x)} is not {3 * x + 1}"


def rubbish(root: Path, *, aged: bool = True) -> list[str]:
    """What is left over in a cache after a use of it a day later."""
    if aged:
        past = time.time() - 3 * 24 * 3600
        for path in [*root.glob("scratch/*"), *(p for p in root.rglob(".*") if p.is_file())]:
            with contextlib.suppress(OSError):
                os.utime(path, (past, past))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Cache(root).publish(make_key(["later"]), record=b"", code=b"later")
    return [str(p) for p in [*root.glob("scratch/*"), *root.rglob(".*")]]


# -------------------------------------------------------------------------------------- system calls

#: What the store calls the system by.
_CALLS = "open write close replace link unlink rename mkdir rmdir utime stat lstat fstat scandir statvfs".split()


class Injector:
    """Counts the system calls that touch a folder, and does something at one of them.

    Parameters
    ----------
    root : Path
    at : int
        The call, from 1.
    act : callable
        Given the real call and its arguments.
    lasting : bool
        At every later call too.
    only : set of str
        Names of the calls that count; all if omitted.
    """

    def __init__(
        self,
        root: Path,
        act: Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any],
        *,
        at: int = 1,
        lasting: bool = False,
        only: Iterable[str] = _CALLS,
    ) -> None:
        self.root, self.act, self.at, self.lasting, self.only = str(root), act, at, lasting, set(only)
        self.count = 0
        self._ours: set[int] = set()
        self._acting = False

    def install(self) -> None:
        for name in _CALLS:
            setattr(os, name, self._wrapped(name, getattr(os, name)))
        builtins.open = self._wrapped("open", builtins.open)  # type: ignore[assignment]

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """What is done inside is not counted, and succeeds."""
        self._acting = True
        yield
        self._acting = False

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._acting or not self._touches(args, kwargs):
                return real(*args, **kwargs)
            self.count += name in self.only
            hit = name in self.only and (self.count == self.at or (self.lasting and self.count > self.at))
            if name == "close":
                self._ours.discard(args[0])  # the number may be another file's the next moment
            self._acting = True
            try:
                made = self.act(name, real, args, kwargs) if hit else real(*args, **kwargs)
            finally:
                self._acting = False
            if name == "open" and isinstance(made, int):
                self._ours.add(made)
            return made

        return call

    def _touches(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        first = args[0] if args else ""
        if isinstance(first, int):
            return first in self._ours
        if kwargs.get("dir_fd") in self._ours:
            return True
        return isinstance(first, str | os.PathLike) and os.fspath(first).startswith(self.root)


def _kill(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "write":
        real(args[0], bytes(args[1])[: len(args[1]) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_after(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)


def _fails(number: int, *, after: bool = False) -> Callable[..., Any]:
    """An error instead of the call or, as NFS does where an answer is lost, ``after`` it was done."""

    def act(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if after:
            made = real(*args, **kwargs)
            if name == "open":
                made.close() if hasattr(made, "close") else os.close(made)
        elif name == "write":
            real(args[0], bytes(args[1])[: len(args[1]) // 2])
        elif name == "close":
            real(*args, **kwargs)  # Linux gives the descriptor back, whatever it says
        raise OSError(number, os.strerror(number), str(args[0]))

    return act


def publishes(
    root: Path, aside: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext
) -> object:
    """Everything that a new cell asks of the store, then all that a known one does; what is looked at ``aside``."""
    store = Cache(root)
    with store.open_scratch():
        entry = store.publish(K, record=b"record", code=CODE)
        with aside():
            if (entry.code, entry.library.read_bytes(), entry.record) != (CODE, CODE, b"record"):
                return "the published object is another"
    store.remember("name", "value")
    if store.recall("name") not in ("value", None):
        return "the fact is another"
    for found in (store.get(K), Cache(root).get(K)):
        with aside():
            if found and (found.code, found.library.read_bytes(), found.record) != (CODE, CODE, b"record"):
                return "the found object is another"
    return True


def steps(
    fault: str,
    folder: Path,
    act: Callable[..., Any],
    *,
    lasting: bool = False,
    only: Iterable[str] = _CALLS,
    every: int = 1,
) -> Came:
    """Do ``act`` at the first, second, ... system call of `publishes`, until there is no such call."""
    tally = Tally(fault)
    for at in itertools.count(1, 1 if NIGHTLY else every):
        root, temporary = folder / str(at) / "cache", folder / str(at) / "tmp"
        temporary.mkdir(parents=True)
        injector = Injector(root, act, at=at, lasting=lasting, only=only)

        def broken(root: Path = root, temporary: Path = temporary, injector: Injector = injector) -> object:
            tempfile.tempdir = str(temporary)
            injector.install()
            came = publishes(root, injector.aside)
            return f"{injector.count} calls" if injector.count < injector.at and came is True else came

        verdict = start(broken).verdict()
        if verdict.endswith(" calls"):
            break
        kind = tally.count(verdict, at=f"call {at}")
        tally.count(start(lambda root=root: publishes(root)).verdict(), at=f"after call {at}")
        for path in rubbish(root):
            tally.count(f"left: {path}", at=f"call {at}")
        for path in temporary.iterdir() if kind != "killed" else ():
            tally.count(f"left: {path}", at=f"call {at}")
        shutil.rmtree(folder / str(at))
    return tally.done()


# --------------------------------------------------------------------------------------- the faults

_WRITING = frozenset("open write close replace link unlink mkdir rmdir utime".split())


def killed(folder: Path) -> Came:
    """kill -9 before each system call of a publish, and in the middle of each write"""
    return steps(_named(killed), folder, _kill)


def killed_after(folder: Path) -> Came:
    """kill -9 after each system call of a publish"""
    return steps(_named(killed_after), folder, _kill_after)


def full(folder: Path) -> Came:
    """the disk is full from each system call on (ENOSPC)"""
    return steps(_named(full), folder, _fails(errno.ENOSPC), lasting=True, only=_WRITING)


def quota(folder: Path) -> Came:
    """each system call fails once (EDQUOT)"""
    return steps(_named(quota), folder, _fails(errno.EDQUOT), only=_WRITING, every=5)


def broken_disk(folder: Path) -> Came:
    """every system call fails from each on (EIO)"""
    return steps(_named(broken_disk), folder, _fails(errno.EIO), lasting=True, every=5)


def stale(folder: Path) -> Came:
    """NFS: each system call fails once (ESTALE)"""
    return steps(_named(stale), folder, _fails(errno.ESTALE), every=5)


def busy(folder: Path) -> Came:
    """NFS: each system call fails once (EBUSY)"""
    return steps(_named(busy), folder, _fails(errno.EBUSY), every=5)


def across(folder: Path) -> Came:
    """renames and links across devices fail (EXDEV), once and for ever"""
    once = steps(_named(across), folder / "once", _fails(errno.EXDEV), only={"replace", "link"})
    ever = steps(_named(across), folder / "ever", _fails(errno.EXDEV), lasting=True, only={"replace", "link"})
    return _together(once, ever)


def unanswered(folder: Path) -> Came:
    """NFS: each system call is done and reported as failed (EIO, ENOENT)"""
    found = [
        steps(_named(unanswered), folder / str(n), _fails(n, after=True), every=7) for n in (errno.EIO, errno.ENOENT)
    ]
    return _together(*found)


def without_links(folder: Path) -> Came:
    """a file system without links (EPERM, ENOTSUP, ENOSYS)"""
    found = [
        steps(_named(without_links), folder / str(n), _fails(n), lasting=True, only={"link"})
        for n in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
    ]
    return _together(*found)


def read_only(folder: Path) -> Came:
    """a read-only folder (EROFS): a known cell, then a new one"""
    tally = Tally(_named(read_only))
    for known in (True, False):
        root = folder / f"cache-{known}"
        if known:
            publishes(root)
        injector = Injector(root, _refuses_to_write, lasting=True, only=_WRITING)

        def used(root: Path = root, injector: Injector = injector) -> object:
            injector.install()
            return publishes(root, injector.aside)

        tally.count(start(used).verdict(), at=f"known={known}")
    return tally.done()


def _refuses_to_write(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mode = args[1] if len(args) > 1 else "r"
    writing = mode & (os.O_CREAT | os.O_WRONLY | os.O_RDWR) if isinstance(mode, int) else "r" not in mode
    if name in ("close", "write") or (name == "open" and not writing):
        return real(*args, **kwargs)
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(args[0]))


def unsafe(folder: Path) -> Came:
    """the folder is a link, a file, open to everybody, or another user's"""
    tally = Tally(_named(unsafe))
    for fault in ("link", "file", "everybody's", "another's", "a file above it"):
        root = folder / fault / "cache"
        root.parent.mkdir()
        if fault != "file":
            publishes(root)
        if fault == "link":
            root.rename(root.with_name("elsewhere"))
            root.symlink_to(root.with_name("elsewhere"))
        elif fault == "file":
            root.write_text("")
        elif fault == "everybody's":
            root.chmod(0o777)
        elif fault == "another's":
            if os.geteuid():
                continue
            os.chown(root, 12345, -1)
        else:
            shutil.rmtree(root.parent)
            root.parent.write_text("")
        before = sorted(root.rglob("*"))

        def used(root: Path = root, whole: bool = NIGHTLY or fault == "link") -> object:
            if Cache(root).get(K) is not None:
                return "it was read"
            return _with_cache(root, builds) if whole else publishes(root)

        tally.count(start(used).verdict(), at=fault)
        if before != sorted(root.rglob("*")):
            tally.count("wrong: it was written to", at=fault)
    return tally.done()


def damaged(folder: Path) -> Came:
    """entries truncated, overwritten, one bit of them changed, replaced by folders"""
    tally = Tally(_named(damaged))
    damages: dict[str, Callable[[bytes], bytes]] = {
        "empty": lambda data: b"",
        "half": lambda data: data[: len(data) // 2],
        "all but one": lambda data: data[:-1],
        "longer": lambda data: data + b"\0",
        "zeros": lambda data: b"\0" * len(data),
        "a bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        "a page": lambda data: data[:4096].ljust(4096, b"\0") + b"\xff" * 4096 + data[8192:],
        "text": lambda data: b"not a library\n",
    }
    # tests/test_cache.py has them all, without a compiler.
    for name, damage in damages.items() if NIGHTLY else [(n, damages[n]) for n in ("half", "a bit")]:
        root = _prepared(folder / name)
        for path in _stored(root):
            path.write_bytes(damage(path.read_bytes()))
        tally.count(start(lambda root=root: _with_cache(root, builds)).verdict(), at=name)
        tally.count(start(lambda root=root: _with_cache(root, builds)).verdict(), at=f"after {name}")
    root = _prepared(folder / "a folder")
    for path in _stored(root):
        path.unlink()
        path.mkdir()
    tally.count(start(lambda: _with_cache(root, builds)).verdict(), at="a folder")
    return tally.done()


def swapped(folder: Path) -> Came:
    """files of two entries swapped: keys, code, keys that name another's code"""
    tally = Tally(_named(swapped))
    for kind in ("keys", "code"):
        root = _prepared(folder / kind)
        start(lambda root=root: _with_cache(root, lambda: um.compile_c(CELL.replace("3", "4")) and True)).verdict()
        paths = [p for p in _stored(root) if (p.parent.name == "keys") == (kind == "keys")]
        held = [p.read_bytes() for p in paths]
        for path, content in zip(paths, [*held[1:], held[0]], strict=True):
            path.write_bytes(content)
        tally.count(start(lambda root=root: _with_cache(root, builds)).verdict(), at=kind)
    root = _prepared(folder / "digest")
    start(lambda: _with_cache(root, lambda: um.compile_c(CELL.replace("3", "4")) and True)).verdict()
    digests = [p.stem.encode() for p in root.glob("code/*/*.so")]
    for path in root.glob("keys/*"):
        head, line, record = path.read_bytes().partition(b"\n")
        mine = next(d for d in digests if d in head)
        path.write_bytes(head.replace(mine, next(d for d in digests if d != mine)) + line + record)
    # Whoever can write there can also write a right seal, unless UFUNC_MAGIC_KEY signs it.
    tally.count(start(lambda: _with_cache(root, builds), before=_signing).verdict(), at="digest")
    return tally.done()


def clocks(folder: Path) -> Came:
    """files from 1970 and from 2106, a clock set back and forth between uses"""
    tally = Tally(_named(clocks))
    times = (0.0, 1.0, time.time() - 10 * 365 * 86400, time.time() + 3 * 86400, 4.29e9)
    for n, moment in enumerate(times):
        root = _prepared(folder / str(n))
        (root / "scratch" / "left").mkdir(parents=True, exist_ok=True)
        for path in [root, *root.rglob("*")]:
            os.utime(path, (moment, moment))

        def used(root: Path = root) -> object:
            came = _with_cache(root, builds)
            store = Cache(root, limit=200_000)
            for k in range(20):
                store.publish(make_key([str(k)]), record=b"", code=bytes([k]) * 30_000)
            store.prune(100_000)
            return came if store.size() <= 100_000 else f"{store.size()} bytes are left"

        tally.count(start(used).verdict(), at=str(moment))
        for path in root.glob("scratch/*"):
            tally.count(f"left: {path}", at=str(moment))
    return tally.done()


def versions(folder: Path) -> Came:
    """two versions of the package share a folder, one of them with another format"""
    tally = Tally(_named(versions))
    root = _prepared(folder)
    theirs = root / "keys" / make_key(["theirs"])
    theirs.write_bytes(b"ufunc_magic 3 whatever that version writes\n")
    known = sorted(root.rglob("*.so"))

    def other() -> object:
        real = frontend._find_engine()
        frontend._find_engine = lambda: f"{real}, another version"
        return _with_cache(root, builds)

    for action in (other, other, builds):
        tally.count(start(lambda action=action: _with_cache(root, action)).verdict())
    if Cache(root).get(theirs.name) is not None or not theirs.exists():
        tally.count("wrong: another version's entry was read or removed")
    if set(known) - set(root.rglob("*.so")):
        tally.count("wrong: another version's code was removed")
    return tally.done()


def crowd(folder: Path) -> Came:
    """50 processes compile the same cell at once"""
    tally = Tally(_named(crowd))
    root = folder / "cache"
    if not NIGHTLY:  # what does not depend on the cell is there
        root = _prepared(folder, cell="double g(double x) { return x; }")
    before = set(root.glob("keys/*")), set(root.glob("code/*/*"))
    held, go = os.pipe()
    children = [start(lambda: _with_cache(root, builds), before=lambda: os.read(held, 1)) for _ in range(50)]
    os.write(go, b"." * 50)
    for number, child in enumerate(children):
        tally.count(child.verdict(), at=f"process {number}")
    os.close(held)
    os.close(go)
    if not NIGHTLY and (entries := len(set(root.glob("keys/*")) - before[0])) != 1:
        tally.count(f"wrong: {entries} entries")
    if not NIGHTLY and (objects := len(set(root.glob("code/*/*")) - before[1])) != 1:
        tally.count(f"wrong: {objects} objects")
    for path in rubbish(root, aged=False):
        tally.count(f"left: {path}")
    tally.count(start(lambda: _with_cache(root, _hit)).verdict(), at="afterwards")
    return tally.done()


def clearing(folder: Path) -> Came:
    """other processes empty and shrink the cache without a pause while cells are built"""
    tally = Tally(_named(clearing))
    root = _prepared(folder)

    def clears() -> object:
        stop = time.monotonic() + (60 if NIGHTLY else 2)
        while time.monotonic() < stop:
            Cache(root).clear()
            Cache(root).prune(50_000)
        return True

    def many() -> object:
        stop = time.monotonic() + (60 if NIGHTLY else 2)
        for n in itertools.count():
            f = um.compile_c(CELL.replace("3", str(n % 7)) + f" // {n // 2 % 9}", force=n % 5 == 0).f
            if f(2.0) != n % 7 * 2 + 1:
                return f"{f(2.0)} is not {n % 7 * 2 + 1}"
            _forget()
            if time.monotonic() > stop:
                return True
        return True

    children = [start(lambda action=action: _with_cache(root, action)) for action in (clears, clears, many, many)]
    for child in children:
        tally.count(child.verdict())
    for path in rubbish(root):
        tally.count(f"left: {path}")
    return tally.done()


def removing(folder: Path) -> Came:
    """somebody removes the whole folder again and again while cells are compiled, and kill -9 ends some of them"""
    tally, chance = Tally(_named(removing)), random.Random(11)
    root = _prepared(folder)

    def compiles(n: int) -> object:
        f = um.compile_c(f"double f(double x) {{ return {n} * x + 1; }}").f
        return bool(f(2.0) == 2 * n + 1) or f"{f(2.0)} is not {2 * n + 1}"

    for _ in range(10 if NIGHTLY else 1):
        started = [start(lambda n=n: _with_cache(root, lambda: compiles(n))) for n in range(5, 25 if NIGHTLY else 11)]
        for child in chance.sample(started, len(started) // 5):
            time.sleep(chance.uniform(0, 0.2))
            os.kill(child.number, signal.SIGKILL)
        for _ in range(3):
            shutil.rmtree(root, ignore_errors=True)
            time.sleep(chance.uniform(0, 0.3))
        for child in started:
            said = child.verdict()
            false = any(words in said for words in ("does not compile", "wrote no", "Free some disk space"))
            tally.count(f"wrong: {said}" if false else said)
    for path in rubbish(root):
        tally.count(f"left: {path}")
    return tally.done()


def killed_while_compiling(folder: Path) -> Came:
    """kill -9 at random moments of a real compilation"""
    tally = Tally(_named(killed_while_compiling))
    chance = random.Random(7)
    for n in range(200 if NIGHTLY else 5):
        root = _prepared(folder / str(n), cell="double g(double x) { return x; }")
        child = start(lambda root=root: _with_cache(root, builds))
        time.sleep(chance.uniform(0.005, 0.15))
        os.kill(child.number, signal.SIGKILL)
        tally.count(child.verdict(), at=str(n))
        tally.count(start(lambda root=root: _with_cache(root, builds)).verdict(), at=f"after {n}")
        time.sleep(0.2 if n == 0 else 0)  # the compiler that was not killed ends by itself
        for path in rubbish(root):
            tally.count(f"left: {path}", at=str(n))
    return tally.done()


def full_disk(folder: Path) -> Came:
    """a real file system of 1 MB, cache and temporary files together and apart"""
    return _on_a_mount(full_disk, folder, flags=0, options="size=1m")


def no_programs(folder: Path) -> Came:
    """a file system mounted noexec"""
    return _on_a_mount(no_programs, folder, flags=_NOEXEC, options="")


#: MS_NOEXEC of <sys/mount.h>.
_NOEXEC = 8


def _on_a_mount(fault: Callable[[Path], Came], folder: Path, *, flags: int, options: str) -> Came:
    tally = Tally(_named(fault))
    place = folder / "mount"
    place.mkdir()
    if not _mounted(place, flags=flags, options=options):
        return Came(_named(fault), skipped="this user cannot mount a file system")
    try:
        for apart in (True, False):
            with contextlib.suppress(OSError), open(place / "filler", "wb") as file:
                file.write(b"x" * (1 << 20) if "size" in options else b"")

            def used(apart: bool = apart) -> object:
                tempfile.tempdir = None if apart else str(place)
                return _with_cache(place / "cache", builds)

            tally.count(start(used).verdict(), at=f"apart={apart}")
    finally:
        _unmount(place)
    return tally.done()


def small_files(folder: Path) -> Came:
    """files of the process may not be larger than 20 kB (ulimit -f)"""
    tally = Tally(_named(small_files))
    root = _prepared(folder, cell="double g(double x) { return x; }")

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    tally.count(start(lambda: _with_cache(root, builds), before=limited).verdict())
    tally.count(start(lambda: _with_cache(root, builds)).verdict(), at="afterwards")
    for path in rubbish(root):
        tally.count(f"left: {path}")
    return tally.done()


def few_descriptors(folder: Path) -> Came:
    """no file descriptor is free (EMFILE), then there are again"""
    tally = Tally(_named(few_descriptors))
    root = _prepared(folder, cell="double g(double x) { return x; }")

    def limited() -> object:
        um.compile_c(CELL.replace("3", "4"))  # modules are read at their first use
        held = []
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(0))
        with contextlib.suppress(um.UfuncMagicError):
            builds()
        for number in held:
            os.close(number)
        return builds()

    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))  # noqa: E731
    tally.count(start(lambda: _with_cache(root, limited), before=limit).verdict())
    return tally.done()


def no_folder(folder: Path) -> Came:
    """the working folder has been deleted"""
    tally = Tally(_named(no_folder))
    root = _prepared(folder / "cache", cell="double g(double x) { return x; }")
    gone = folder / "gone"
    for setting in (str(root), "relative"):

        def used(setting: str = setting) -> object:
            gone.mkdir()
            os.chdir(gone)
            gone.rmdir()
            os.environ["UFUNC_MAGIC_CACHE"] = setting
            return builds()

        tally.count(start(used).verdict(), at=setting)
    return tally.done()


FAULTS: dict[str, Callable[[Path], Came]] = {
    function.__name__: function
    for function in (
        killed, killed_after, killed_while_compiling, full, quota, broken_disk, stale, busy, across, unanswered,
        without_links, read_only, unsafe, damaged, swapped, clocks, versions, crowd, clearing, removing, full_disk,
        no_programs, small_files, few_descriptors, no_folder,
    )
}  # fmt: skip


# ----------------------------------------------------------------------------------------- furniture


def _named(fault: Callable[[Path], Came]) -> str:
    return (fault.__doc__ or "").strip()


def _together(*found: Came) -> Came:
    numbers = {
        name: sum(getattr(came, name) for came in found)
        for name in ("right", "refused", "killed", "wrong", "unhandled", "left")
    }
    return Came(found[0].fault, **numbers, worst=next((came.worst for came in found if came.worst), ""))


def _with_cache(root: Path, action: Callable[[], object]) -> object:
    os.environ["UFUNC_MAGIC_CACHE"] = str(root)
    return action()


def _hit() -> object:
    return builds() if um.compile_c(CELL).cached else "it was compiled again"


def _signing() -> None:
    os.environ["UFUNC_MAGIC_KEY"] = "a secret"


def _forget() -> None:
    """Let the next build of this process look into the cache."""
    pipeline.BUILDS.clear()


_templates: dict[str, Path] = {}


def _prepared(root: Path, *, cell: str = CELL) -> Path:
    """A cache that holds a cell and what does not depend on it."""
    if cell not in _templates:
        _templates[cell] = Path(tempfile.mkdtemp(dir=os.environ["UFM_FAULTS"])) / "cache"
        said = start(lambda: _with_cache(_templates[cell], lambda: um.compile_c(cell) and True)).verdict()
        if said != "right":
            raise RuntimeError(said)
    shutil.copytree(_templates[cell], root, dirs_exist_ok=True)
    return root


def _stored(root: Path) -> list[Path]:
    return sorted([*root.glob("keys/*"), *root.glob("code/*/*.so")])


def _mounted(place: Path, *, flags: int, options: str) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    return sys.platform == "linux" and libc.mount(b"none", bytes(place), b"tmpfs", flags, options.encode()) == 0


def _unmount(place: Path) -> None:
    ctypes.CDLL(None).umount2(bytes(place), 2)


def _adopt_orphans() -> None:
    """What a killed child has started becomes a child of this process (PR_SET_CHILD_SUBREAPER)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def _orphans() -> list[int]:
    """Processes that outlive those that started them by more than five seconds."""
    patience = time.monotonic() + 5
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = [int(n) for n in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]
        if not left or time.monotonic() > patience:
            for number in left:
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)
            return left
        time.sleep(0.02)


def main(folder: str, *names: str) -> None:
    os.environ["UFM_FAULTS"] = folder
    _adopt_orphans()
    frontend._find_engine()  # once for all children, whoever edits the package meanwhile
    for name in names or FAULTS:
        (place := Path(folder) / name).mkdir()
        began = time.monotonic()
        came = FAULTS[name](place)
        if orphans := _orphans():
            came = replace(came, left=came.left + len(orphans), worst=came.worst or f"left: {orphans}")
        print(json.dumps(asdict(came)), flush=True)
        print(f"{name} {time.monotonic() - began:.1f} s", came, came.worst[-1500:], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
