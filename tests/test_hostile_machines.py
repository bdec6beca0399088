"""Machines that refuse what others grant: cells work there, or a note says what is missing.

What a tight container refuses is refused here by seccomp, in a process of its own.
"""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

#: Numbers of system calls on x86-64.
CALLS = {"memfd_create": 319, "setsid": 112, "socketpair": 53, "sendmsg": 46, "seccomp": 317, "setitimer": 38}

REFUSING = """
import ctypes, struct

def refuse(numbers, error, confining=False):
    load, skip, end = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS; BPF_JMP | BPF_JEQ; BPF_RET
    text = struct.pack("HBBI", load, 0, 0, 0)
    if confining:  # prctl(PR_SET_SECCOMP, ...): how a process confines itself
        text += struct.pack("HBBI", skip, 0, 3, 157) + struct.pack("HBBI", load, 0, 0, 16)
        text += struct.pack("HBBI", skip, 0, 1, 22) + struct.pack("HBBI", end, 0, 0, 0x50000 | error)
        text += struct.pack("HBBI", load, 0, 0, 0)
    for number in numbers:
        text += struct.pack("HBBI", skip, 0, 1, number) + struct.pack("HBBI", end, 0, 0, 0x50000 | error)
    text += struct.pack("HBBI", end, 0, 0, 0x7FFF0000)
    room = ctypes.create_string_buffer(text, len(text))
    program = struct.pack("HxxxxxxQ", len(text) // 8, ctypes.addressof(room))
    libc = ctypes.CDLL(None)
    assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program)

"""

CELL = """
import pickle
import ufunc_magic as um
b = um.compile_c("double f(double x) { return 2 * x; }\\ndouble g(double x) { return x + *(volatile double *)0; }")
print(b.f(1.5), pickle.loads(pickle.dumps(b.f))(2.0), [c.name for c in b.report().comparisons], "g" in b)
print(*b.notes, sep="\\n")
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64", reason="calls are refused by their x86-64 numbers"
    ),
]


def outcome(program: str, *, refused: str = "", error: int, cache: Path, confining: bool = False) -> list[str]:
    numbers = [CALLS[name] for name in refused.split()]
    process = subprocess.run(
        [sys.executable, "-c", f"{REFUSING}\nrefuse({numbers}, {error}, {confining})\n{program}"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(cache), "UFUNC_MAGIC_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_where_little_is_refused_a_cell_is_tried_out_as_ever(cache_folder: Path, error: int) -> None:
    refused = "memfd_create setsid seccomp"
    assert outcome(CELL, refused=refused, error=error, cache=cache_folder) == ["3.0 4.0 ['f'] False", ""]


@pytest.mark.parametrize("refused", ["socketpair", "sendmsg"])
def test_where_no_other_process_can_try_it_a_cell_is_bound_untried_and_not_timed(
    cache_folder: Path, refused: str
) -> None:
    values, *notes = outcome(CELL, refused=refused, error=errno.EPERM, cache=cache_folder)
    assert values == "3.0 4.0 [] True"
    assert "f: not tried out, nor timed: no other process can run it first." in notes
    assert any("Operation not permitted" in note for note in notes)


def test_a_payload_that_a_limit_cuts_is_never_opened(cache_folder: Path) -> None:
    program = """
import pickle, resource
import ufunc_magic as um
data = um.dumps(um.c_ufunc("double f(double x) { return 3 * x; }"))
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import sys
import ufunc_magic.runtime.registry as registry
try:
    print(um.loads(data)(2.0))
except (um.UfuncMagicError, OSError) as fault:
    print(type(fault).__name__)
"""
    (answer,) = outcome(program, refused="seccomp", error=errno.ENOSYS, cache=cache_folder)
    assert answer in ("6.0", "CacheError", "OSError")


STARTING = """
import array, os, psutil
import ufunc_magic as um
started = os.environ["HOME"] + "/started"
um.compile_c(r'''
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
double forks(double x) {  // by number: functions that are seen to fork or to write files are not tried out
    if (x != 0.5) return x;
    long child = syscall(SYS_fork);
    if (child == 0) { setsid(); for (;;) pause(); }
    long file = syscall(SYS_open, "STARTED", O_WRONLY | O_CREAT | O_APPEND, 384);
    syscall(SYS_write, file, &child, sizeof child);
    return x;
}
'''.replace("STARTED", started), force=True)
# The helper ends what a trial has started after its answer, and before it takes another request.
um.compile_c("double after(double x) { return x; }", force=True)
pids = array.array("l", open(started, "rb").read())
print(len(pids) > 0, [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"])
"""


def test_what_the_code_starts_is_ended_where_trials_cannot_be_confined(cache_folder: Path) -> None:
    assert outcome(STARTING, error=errno.EPERM, cache=cache_folder, confining=True) == ["True []"]


# ---------------------------------------------------------------------------------- odd surroundings

#: A name beyond ASCII, a function that faults, a pickle, a report, a Cython cell.
WORKS = """
import importlib.util, pickle
import numpy as np
import ufunc_magic as um
source = "#include <math.h>\\ndouble größe(double x) { return exp(x); }\\nint part(int n) { return 100 / n; }\\n"
build = um.compile_c(source, time=False)
size = pickle.loads(pickle.dumps(build["größe"]))
try:
    build.part(0)
except um.CellCrashed as fault:
    crashed = str(fault).startswith("part(0)")
report = um.compile_c("double half(double x) { return x / 2; }").report()
half = float
if importlib.util.find_spec("Cython"):
    half = um.compile_cython("def half(double x):\\n    return x / 2\\n", time=False).half
print(size(np.zeros(2)).tolist(), crashed, half(0), "half(x)" in str(report), "half(x)" in report._repr_html_())
"""
PYTHON = f'"{sys.executable}"'


def works(command: str, *, cache: Path, **variables: str) -> None:
    """Run `WORKS`, the file ``$PROGRAM``, by a command of the shell."""
    program = cache.parent / "works.py"
    program.write_text(WORKS, encoding="utf-8")
    environment = {"PATH": "/usr/bin:/bin", "UFUNC_MAGIC_CACHE": str(cache), "PROGRAM": str(program), **variables}
    shell = ["/bin/sh", "-c", command]
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=False, cwd=cache.parent)
    assert (done.returncode, done.stdout) == (0, "[1.0, 1.0] True 0.0 True True\n"), done.stderr


@pytest.mark.parametrize("options", ["-O", "-OO", "-I", "-X dev -W error", "-X utf8=0"])
def test_cells_work_under_options_of_python(cache_folder: Path, options: str) -> None:
    works(f'exec {PYTHON} {options} "$PROGRAM"', cache=cache_folder)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "variables",
    [
        {},  # no HOME
        {"PATH": ""},
        {"LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"TMPDIR": "/nonexistent", "HOME": "/nonexistent"},
    ],
    ids=["nothing", "no PATH", "C locale", "no folders"],
)
def test_cells_work_in_environments(cache_folder: Path, variables: dict[str, str]) -> None:
    works(f'exec {PYTHON} "$PROGRAM"', cache=cache_folder, **variables)


@pytest.mark.parametrize("limit", ["-v 2000000", "-n 40", "-c 0", "-s 1024"])
def test_cells_work_within_limits(cache_folder: Path, limit: str) -> None:
    works(f'ulimit {limit}; exec {PYTHON} "$PROGRAM"', cache=cache_folder)


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize(
    "mounted",
    [
        "none /proc",
        "-o ro none /dev/shm",
        '-o noexec none "$UFUNC_MAGIC_CACHE"',
        '-o size=100k none "$UFUNC_MAGIC_CACHE"',
        '-o ro none "$UFUNC_MAGIC_CACHE"',
    ],
)
def test_cells_work_on_file_systems(cache_folder: Path, mounted: str) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this container may not mount")
    works(f"unshare -m /bin/sh -c 'mount -t tmpfs {mounted} && exec {PYTHON} \"$PROGRAM\"'", cache=cache_folder)
