"""The store: whole objects or none, whoever writes, whatever breaks; and the keys that lead to them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import ufunc_magic as um
from support import run_python
from ufunc_magic.model import CacheError
from ufunc_magic.store import (
    Cache,
    CacheWarning,
    Entry,
    atomic_file as sealed,
    make_key,
    open_default,
    paths as folders,
)

K, K2 = make_key(["one"]), make_key(["two"])
CODE = b"\x7fELF" + bytes(range(256)) * 80


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "store")


def broken_write(monkeypatch: pytest.MonkeyPatch, number: int, *, below: Path) -> None:
    """Every attempt to make a file or folder below ``below`` fails; permission bits do not stop root."""

    def refuse(real):
        def call(path, *args, **kwargs):
            if str(path if not isinstance(path, int) else "").startswith(str(below)):
                raise OSError(number, os.strerror(number), str(path))
            return real(path, *args, **kwargs)

        return call

    real_open = os.open

    def opening(path, flags, *args, **kwargs):
        if flags & os.O_CREAT and str(path).startswith(str(below)):
            raise OSError(number, os.strerror(number), str(path))
        return real_open(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "mkdir", refuse(os.mkdir))
    monkeypatch.setattr(os, "utime", refuse(os.utime))
    monkeypatch.setattr(os, "replace", refuse(os.replace))
    monkeypatch.setattr(os, "unlink", refuse(os.unlink))


# ------------------------------------------------------------------------------------------- keys


def test_key_is_the_same_for_equal_parts():
    assert make_key(["a", b"b", "é"]) == make_key(iter(("a", b"b", "é")))


@pytest.mark.parametrize(
    "other",
    [
        ["a", "b", "c"],
        ["ab"],
        ["a", "b", ""],
        ["", "a", "b"],
        ["b", "a"],
        ["a", b"b"],
        ["a1:b"],
        ["as1:b"],
    ],
    ids=[
        "one more",
        "joined",
        "empty last",
        "empty first",
        "order",
        "bytes for text",
        "a length inside",
        "a seam inside",
    ],
)
def test_key_differs_on(other):
    assert make_key(["a", "b"]) != make_key(other)


@given(st.lists(st.text() | st.binary()), st.lists(st.text() | st.binary()))
def test_key_tells_any_two_lists_apart(left, right):
    same = [type(x) for x in left] == [type(x) for x in right] and left == right
    assert (make_key(left) == make_key(right)) is same


# ---------------------------------------------------------------------------------------- objects


def test_what_was_published_comes_back(store):
    made = store.publish(K, record=b'{"a": 1}\n\x00', code=CODE)
    found = store.get(K)
    assert found == made
    assert found.library.read_bytes() == found.code == CODE
    assert (found.record, found.digest) == (b'{"a": 1}\n\x00', hashlib.sha256(CODE).hexdigest())


def test_an_unknown_key_gives_nothing(store):
    assert store.get(K) is None


def test_another_cache_object_finds_it(store):
    store.publish(K, record=b"r", code=CODE)
    assert Cache(store.path).get(K).code == CODE


def test_the_first_publisher_wins_unless_told_to_replace(store):
    store.publish(K, record=b"first", code=CODE)
    assert store.publish(K, record=b"second", code=b"other").record == b"first"
    assert store.publish(K, record=b"third", code=b"other", replace=True).record == b"third"
    assert store.get(K).code == b"other"


def test_a_replaced_objects_file_stays_as_it_is(store):
    first = store.publish(K, record=b"r", code=CODE)
    store.publish(K, record=b"r", code=b"other", replace=True)
    assert first.library.read_bytes() == CODE


def test_publishing_the_same_code_again_leaves_its_file_alone(store):
    before = os.stat(store.publish(K, record=b"r", code=CODE).library)
    after = os.stat(store.publish(K2, record=b"r", code=CODE).library)
    assert before.st_ino == after.st_ino


def test_folders_and_files_are_for_this_user_only(store):
    entry = store.publish(K, record=b"r", code=CODE)
    modes = {stat.st_mode & 0o077 for p in store.path.rglob("*") for stat in [os.stat(p)]}
    assert (modes, os.stat(store.path).st_mode & 0o777) == ({0}, 0o700)
    assert entry.library.is_relative_to(store.path)


@pytest.mark.parametrize("part", ["code", "key"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"\0",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: b"\0" * len(data),
        lambda data: data.replace(b"\n", b" ", 1).replace(b"\x0a", b"", 1),
    ],
    ids=["empty", "short by one", "half", "long by one", "last bit", "first bit", "zeros", "no line"],
)
def test_a_damaged_file_is_absent_and_is_built_again(store, part, damage):
    entry = store.publish(K, record=b"record", code=CODE)
    path = entry.library if part == "code" else store.path / "keys" / K
    path.write_bytes(damage(path.read_bytes()))
    assert store.get(K) is None
    assert not path.exists()
    assert store.publish(K, record=b"record", code=CODE) == entry == store.get(K)


@settings(deadline=None)  # files are written
@given(st.integers(0), st.integers(0, 7))
def test_no_flipped_bit_of_a_key_file_gives_a_wrong_object(tmp_path_factory, at, bit):
    store = Cache(tmp_path_factory.mktemp("bits"))
    store.publish(K, record=b"record", code=b"code")
    path = store.path / "keys" / K
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)
    assert store.get(K) is None


def test_swapped_key_files_are_noticed(store):
    store.publish(K, record=b"one", code=b"code of one")
    store.publish(K2, record=b"two", code=b"code of two")
    one, two = store.path / "keys" / K, store.path / "keys" / K2
    swapped = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(swapped)
    assert (store.get(K), store.get(K2)) == (None, None)


def test_swapped_code_files_are_noticed(store):
    a = store.publish(K, record=b"one", code=b"code of one").library
    b = store.publish(K2, record=b"two", code=b"code of two").library
    swapped = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(swapped)
    assert (store.get(K), store.get(K2)) == (None, None)


def test_a_key_that_points_outside_the_folder_is_refused(store, tmp_path):
    store.publish(K, record=b"r", code=CODE)
    (tmp_path / "evil.so").write_bytes(CODE)
    path = store.path / "keys" / K
    path.write_bytes(sealed.seal(K, "../../../evil", b"r"))
    assert store.get(K) is None


def test_a_damaged_file_that_was_replaced_meanwhile_is_kept(store):
    path = store.publish(K, record=b"r", code=CODE).library
    seen = os.stat(path)
    os.rename(path, path.with_suffix(".old"))
    path.write_bytes(CODE)
    sealed.discard(path, seen)
    assert path.exists()


def test_with_a_key_only_what_was_signed_with_it_is_used(store, monkeypatch):
    unsigned, signed = make_key(["unsigned"]), make_key(["signed"])
    store.publish(unsigned, record=b"r", code=b"code")
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "mine")
    assert store.get(unsigned) is None
    store.publish(signed, record=b"r", code=b"more")
    assert store.get(signed).code == b"more"
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "other")
    assert store.get(signed) is None


def test_entries_that_others_can_use_are_left_to_them(store, monkeypatch):
    name = make_key(["mine"])
    store.publish(name, record=b"r", code=b"code")
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "mine")
    assert store.get(name) is None
    monkeypatch.delenv("UFUNC_MAGIC_KEY")
    assert store.get(name).code == b"code"


def test_a_signed_entry_that_points_to_another_object_is_refused(store, monkeypatch):
    monkeypatch.setenv("UFUNC_MAGIC_KEY", "mine")
    good = store.publish(make_key(["good"]), record=b"r", code=b"good")
    store.publish(make_key(["bad"]), record=b"r", code=b"bad")
    path = store.path / "keys" / make_key(["good"])
    path.write_bytes(path.read_bytes().replace(good.digest.encode(), b"0" * 64))
    assert store.get(make_key(["good"])) is None


def test_entries_of_a_version_with_another_format_are_neither_read_nor_removed(store):
    theirs = b"ufunc_magic 3 " + K.encode() + b" in their own way\n"
    store.publish(K2, record=b"r", code=CODE)
    path = store.path / "keys" / K
    path.write_bytes(theirs)
    assert (store.get(K), path.read_bytes()) == (None, theirs)


def test_a_publisher_that_comes_second_leaves_the_file_of_the_first_alone(store, monkeypatch):
    """Between its look at the place and its own file in it, another process has published."""
    first = store.publish(K, record=b"r", code=CODE).library
    seen = os.stat(first)
    reads = iter([None])
    real = sealed.read
    monkeypatch.setattr(sealed, "read", lambda path: real(path) if path != first else next(reads, real(path)))
    store.publish(K2, record=b"r", code=CODE)
    assert (os.stat(first).st_ino, os.stat(first).st_nlink) == (seen.st_ino, 1)
    assert [p.name for p in first.parent.iterdir()] == [first.name]


def test_a_cleared_or_deleted_cache_is_made_again(store):
    store.publish(K, record=b"r", code=CODE)
    shutil.rmtree(store.path)
    assert store.get(K) is None
    assert store.publish(K, record=b"r", code=CODE) == store.get(K)


@pytest.mark.parametrize("often", [1, 1000])
def test_a_cache_that_is_removed_while_compilers_work_costs_one_attempt(tmp_path, monkeypatch, often):
    # The compiler removes the whole cache as it starts on a unit, so many times.
    compiler, times = tmp_path / "gcc", tmp_path / "times"
    compiler.write_text(
        f'#!/bin/sh\ncase " $* " in *" -shared "*)\necho >> {times}\n'
        f'[ $(wc -l < {times}) -gt {often} ] || rm -rf "$UFUNC_MAGIC_CACHE";;\nesac\n'
        'exec /usr/bin/env PATH="$REAL_PATH" gcc "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("REAL_PATH", os.environ["PATH"])
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path / "removed"))
    source = "double often(double x) { return x + 1; }"
    if often > 1:
        with pytest.raises(CacheError, match="has removed"):
            um.compile_c(source)
    else:
        assert um.compile_c(source).often(1.0) == 2
    assert len(times.read_text()) >= 2
    assert not [*tmp_path.glob("removed/scratch/*")]


def test_clear_spares_what_others_are_writing(store):
    storage = store.open_storage("headers")
    old, new = storage / "old.gch", storage / "new.gch"
    for path in (old, new):
        path.write_bytes(b"header")
    os.utime(old, (1, 1))
    with store.open_scratch() as folder:
        work = folder / "unit.c"
        work.write_text("int i;")
        store.clear()
        assert (old.exists(), new.exists(), work.exists()) == (False, True, True)


# ----------------------------------------------------------------------------- many at the same time

PUBLISHER = """
import sys
from ufunc_magic.store import Cache, make_key
store = Cache(sys.argv[1])
for n in range(60):
    code = bytes([n]) * 30000
    entry = store.publish(make_key([str(n)]), record=b"r%d" % n, code=code)
    assert entry.library.read_bytes() == code == store.get(make_key([str(n)])).code
"""


def test_processes_publishing_the_same_at_once_converge(store):
    running = [subprocess.Popen([sys.executable, "-c", PUBLISHER, str(store.path)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(store.list_entries()) == 60
    assert [p for p in store.path.rglob("*") if p.name.startswith(".")] == []


KILLED = """
import os, sys
from ufunc_magic.store import Cache, make_key
step, count = int(sys.argv[2]), 0
def hook(event, arguments):
    global count
    if event in ("open", "os.rename", "os.mkdir", "os.utime", "os.remove") and sys.argv[1] in str(arguments[0]):
        count += 1
        if count == step:
            os.kill(os.getpid(), 9)
store = Cache(sys.argv[1])
sys.addaudithook(hook)
store.publish(make_key(["one"]), record=b"r", code=b"x" * 50000)
"""


def test_a_kill_at_any_step_of_publishing_leaves_all_or_nothing(tmp_path):
    step, killed = 0, -signal.SIGKILL
    while killed == -signal.SIGKILL:
        step += 1
        folder = tmp_path / f"step{step}" / "c"
        killed = run_python(KILLED, str(folder), str(step), code=None).returncode
        store = Cache(folder)
        found = store.get(K)
        assert found is None or found.code == b"x" * 50000
        assert store.publish(K, record=b"r", code=b"x" * 50000) == store.get(K)
    assert killed == 0
    assert step > 6


# ----------------------------------------------------------------------------------- size and order


def filled(store: Cache, count: int) -> list[str]:
    names = [make_key([str(n)]) for n in range(count)]
    for age, name in enumerate(reversed(names)):
        entry = store.publish(name, record=b"r", code=f"{name}".encode() * 1000)
        past = time.time() - 1000 - age * 100
        os.utime(entry.library, (past, past))
        os.utime(store.path / "keys" / name, (past, past))
    return names


def test_the_least_recently_used_go_first(store):
    names = filled(store, 6)
    store.get(names[0])  # the oldest has just been used
    store.prune(store.size() // 2)
    assert [name for name in names if store.get(name)] == [names[0], names[4], names[5]]


def test_entries_are_listed_in_the_order_in_which_they_would_go(store):
    names = filled(store, 4)
    first = store.get(names[0]).library
    assert [path for path, _ in store.list_entries()][-1] == first


def test_the_limit_is_kept_when_publishing(tmp_path):
    store = Cache(tmp_path / "c", limit=300_000)
    filled(store, 20)
    store.publish(K, record=b"r", code=b"x" * 40_000)
    assert store.size() <= 300_000
    assert store.get(K)


def test_what_was_used_within_the_last_minute_stays_even_above_the_limit(tmp_path):
    store = Cache(tmp_path / "c", limit=1000)
    for name in (K, K2):
        store.publish(name, record=b"r", code=name.encode() * 100)
    assert store.get(K)
    assert store.get(K2)


def test_prune_and_clear_say_what_they_removed(store):
    filled(store, 3)
    store.remember("fact", "value")
    size = store.size()
    assert size > 3 * 64_000
    assert store.prune(size) == 0
    assert store.clear() == size
    assert (store.size(), store.list_entries(), store.recall("fact")) == (0, (), None)


def test_prune_refuses_a_negative_size(store):
    with pytest.raises(CacheError, match="max_bytes=-1"):
        store.prune(-1)


def test_an_open_library_survives_clear(store):
    with open(store.publish(K, record=b"r", code=CODE).library, "rb") as library:
        store.clear()
        assert library.read() == CODE


def test_repr_tells_objects_and_size(store):
    store.publish(K, record=b"r", code=b"x" * 2_000_000)
    assert re.fullmatch(r"<Cache .*store: 1 object, 2.0 of 1074 MB>", repr(store))


# ------------------------------------------------------------------------------- facts and scratch


def test_facts_are_recalled_by_name(store):
    store.remember("compiler ('gcc', '/usr/bin/gcc')", '{"é": 1}')
    store.remember("other", "")
    assert store.recall("compiler ('gcc', '/usr/bin/gcc')") == '{"é": 1}'
    assert (store.recall("other"), store.recall("third")) == ("", None)


def test_a_damaged_fact_is_forgotten(store):
    store.remember("name", "value")
    path = next((store.path / "facts").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"E")
    assert store.recall("name") is None


def test_scratch_is_private_and_goes_away_even_when_interrupted(store):
    def interrupted() -> Iterator[Path]:
        with store.open_scratch() as folder:
            (folder / "a" / "b").mkdir(parents=True)
            seen.append((folder, os.stat(folder).st_mode & 0o777))
            raise KeyboardInterrupt

    seen: list[tuple[Path, int]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    ((folder, mode),) = seen
    assert (folder.is_relative_to(store.path), mode, folder.exists()) == (True, 0o700, False)


def test_what_killed_compilations_left_is_swept_after_a_day(store):
    with store.open_scratch() as folder:
        left = folder.parent / "left"
    left.mkdir()
    past = time.time() - 2 * 24 * 3600
    os.utime(left, (past, past))
    store.publish(K, record=b"r", code=CODE)
    store.prune(10**9)
    assert not left.exists()


def test_files_that_killed_publishers_left_are_swept_after_an_hour(store):
    library = store.publish(K, record=b"r", code=CODE).library
    left = [library.with_name(".left"), store.path / "keys" / ".left", store.path / "facts" / ".left"]
    store.remember("name", "value")
    kept = [library.with_name(".nfs0001"), library.with_name(".at-work")]
    for path in (*left, *kept):
        path.write_bytes(b"x")
    past = time.time() - 2 * 3600
    for path in (*left, kept[0]):
        os.utime(path, (past, past))
    store.prune(10**9)
    assert [path.exists() for path in (*left, *kept)] == [False] * 3 + [True] * 2
    assert store.size() == sum(os.stat(p).st_size for p in (library, store.path / "keys" / K))


def test_what_was_left_in_the_future_is_swept_too(store):
    with store.open_scratch() as folder:
        left = folder.parent / "left"
    left.mkdir()
    os.utime(left, (4e9, 4e9))
    with store.open_scratch() as used:
        store.prune(10**9)
        assert (left.exists(), used.exists()) == (False, True)


def test_storage_stays(store):
    (store.open_storage("zig") / "x").write_text("1")
    assert (store.open_storage("zig") / "x").read_text() == "1"


# ------------------------------------------------------------------------- folders that cannot be used


def publish_twice(store: Cache) -> Entry:
    entry = store.publish(K, record=b"mine", code=CODE)
    store.publish(K2, record=b"mine", code=b"other")
    store.remember("a", "b")
    return entry


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_cannot_be_written_is_replaced_for_this_process_with_one_warning(tmp_path, monkeypatch, number):
    broken_write(monkeypatch, number, below=tmp_path / "store")
    store = Cache(tmp_path / "store")
    with pytest.warns(CacheWarning, match=re.escape(os.strerror(number))) as caught:
        entry = publish_twice(store)
    assert len(caught) == 1
    assert not entry.library.is_relative_to(tmp_path / "store")
    assert (store.get(K), store.recall("a")) == (entry, "b")
    assert "writing to" in repr(store)


def test_a_read_only_cache_is_still_read(store, monkeypatch):
    entry = store.publish(K, record=b"r", code=CODE)
    broken_write(monkeypatch, errno.EROFS, below=store.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(K) == entry
        assert store.publish(K, record=b"r", code=CODE) == entry


def test_a_write_that_fails_half_way_leaves_nothing(store, monkeypatch):
    store.publish(K2, record=b"r", code=b"x")
    before = sorted(store.path.rglob("*"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "link", full)
    with pytest.warns(CacheWarning), pytest.raises(CacheError, match="No space left on device"):
        store.publish(K, record=b"r", code=CODE)
    after = [p for p in sorted(store.path.rglob("*")) if not p.is_dir()]
    assert after == [p for p in before if not p.is_dir()]


def untrusted(tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    Cache(folder).publish(K, record=b"r", code=CODE)
    if fault == "is writable by everybody":
        folder.chmod(0o777)
    elif fault == "is writable by its group":
        folder.chmod(0o770)
    elif fault == "is a symbolic link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    elif fault == "is not a folder":
        shutil.rmtree(folder)
        folder.write_text("")
    elif os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        real, owned = os.lstat, os.lstat("/")
        monkeypatch.setattr(os, "lstat", lambda path: owned if Path(path) == folder else real(path))
    return folder


@pytest.mark.parametrize(
    "fault",
    [
        "is writable by everybody",
        "is writable by its group",
        "is a symbolic link",
        "belongs to another user",
        "is not a folder",
    ],
)
def test_an_unsafe_folder_is_neither_read_nor_written(tmp_path, monkeypatch, fault):
    folder = untrusted(tmp_path, fault, monkeypatch)
    store = Cache(folder)
    assert store.distrust() == fault
    assert store.get(K) is None
    with pytest.warns(CacheWarning, match=fault) as caught:
        entry = publish_twice(store)
    assert len(caught) == 1
    assert not entry.library.is_relative_to(tmp_path)
    assert store.get(K).record == b"mine"


def test_a_private_folder_that_was_cleaned_away_is_made_again_without_a_word(tmp_path):
    (tmp_path / "store").write_text("")
    store = Cache(tmp_path / "store")
    with pytest.warns(CacheWarning):
        shutil.rmtree(store.publish(K, record=b"r", code=CODE).library.parent.parent.parent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(K) is None
        assert store.publish(K, record=b"r", code=CODE) == store.get(K)


def test_a_disk_without_room_for_a_compiler_is_not_compiled_on(store, monkeypatch):
    monkeypatch.setattr(folders, "has_room", lambda folder: not folder.is_relative_to(store.path))
    with pytest.warns(CacheWarning, match="No space left.*disk space"), store.open_scratch() as folder:
        assert not folder.is_relative_to(store.path)


def test_a_copy_that_finds_no_room_is_an_error_of_ours(store, tmp_path):
    entry = store.publish(K, record=b"r", code=CODE)
    with pytest.raises(CacheError, match="is not writable"):
        entry.copy_to(tmp_path / "nowhere" / "driver.o")
    with pytest.raises(CacheError, match="is not writable"):
        Cache.write_scratch(tmp_path / "nowhere" / "a.c", "")


@pytest.mark.skipif(os.name != "posix", reason="the system keeps a working folder")
def test_a_relative_folder_of_a_deleted_one_is_an_error_of_ours(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", "relative")
    with pytest.raises(CacheError, match=r"'relative' .*no longer exists"):
        open_default()


# ----------------------------------------------------------------------------------------- default


def test_default_follows_the_environment(tmp_path, monkeypatch):
    first = open_default()
    assert open_default() is first
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path / "b"))
    assert open_default().path == tmp_path / "b"


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("500M", 500 << 20), ("1.5G", 3 << 29), ("64 k", 64 << 10), ("2GB", 2 << 30)]
)
def test_the_limit_is_read_from_the_environment(monkeypatch, text, size):
    monkeypatch.setenv("UFUNC_MAGIC_CACHE_MAX", text)
    assert open_default().limit == size


@pytest.mark.parametrize("text", ["many", "-1", "1X", "G"])
def test_a_limit_that_is_no_size_is_refused(monkeypatch, text):
    monkeypatch.setenv("UFUNC_MAGIC_CACHE_MAX", text)
    with pytest.raises(CacheError, match=re.escape(repr(text))):
        open_default()


def test_without_the_variable_it_is_the_users_cache_folder(monkeypatch):
    monkeypatch.delenv("UFUNC_MAGIC_CACHE")
    assert open_default().path.name == "ufunc_magic"


@pytest.mark.parametrize("inner", ["keys", "code", "code/*"])
def test_a_folder_inside_that_others_can_write_to_is_not_believed(inner: str, tmp_path: Path) -> None:
    store = Cache(tmp_path / "store")
    store.publish(K, record=b"r", code=CODE)
    (folder,) = store.path.glob(inner)
    folder.chmod(0o777)
    assert store.get(K) is None
    folder.chmod(0o700)
    assert store.get(K)


@pytest.mark.parametrize("inner", ["keys", "code", "code/*"])
def test_a_folder_inside_that_is_a_link_is_not_believed(inner: str, tmp_path: Path) -> None:
    store = Cache(tmp_path / "store")
    store.publish(K, record=b"r", code=CODE)
    (folder,) = store.path.glob(inner)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert store.get(K) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("inner", ["keys", "code", "code/*", "facts"])
def test_a_folder_inside_that_belongs_to_somebody_else_is_not_believed(inner: str, tmp_path: Path) -> None:
    store = Cache(tmp_path / "store")
    store.publish(K, record=b"r", code=CODE)
    store.remember("fact", "value")
    (folder,) = store.path.glob(inner)
    os.chown(folder, 12345, -1)
    assert (store.recall("fact") if inner == "facts" else store.get(K)) is None


def test_facts_that_others_can_write_are_not_believed(tmp_path: Path) -> None:
    """They say which programs are started."""
    store = Cache(tmp_path / "store")
    store.remember("fact", "value")
    (store.path / "facts").chmod(0o777)
    assert store.recall("fact") is None
    (store.path / "facts").chmod(0o700)
    assert store.recall("fact") == "value"


@pytest.mark.parametrize("inner", ["scratch", "storage"])
def test_compilers_work_in_no_folder_that_others_can_write_to(inner: str, tmp_path: Path) -> None:
    store = Cache(tmp_path / "store")
    (store.path / inner).mkdir(parents=True)
    store.path.chmod(0o700)
    (store.path / inner).chmod(0o777)
    folders = {"storage": lambda: store.open_storage("zig"), "scratch": lambda: store.open_scratch().__enter__()}
    with pytest.warns(CacheWarning, match=f"{inner} is writable by everybody"):
        folder = folders[inner]()
    assert not folder.is_relative_to(tmp_path)
