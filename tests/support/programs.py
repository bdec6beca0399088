"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import ufunc_magic

#: The folder from which a new process imports the package that is tested.
CHECKOUT = Path(ufunc_magic.__file__).parents[1]

#: Variables without which Python or the shared libraries of some installations do not start.
NEEDED = ("SYSTEMROOT", "LD_LIBRARY_PATH", "PYTHON_GIL")

#: A limit for programs that hang: far more than any needs on a busy machine.
LIMIT = 300


def run_python(
    program: str,
    *arguments: str,
    options: tuple[str, ...] = (),
    code: int | None = 0,
    input: bytes | None = None,
    **environment: str | None,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a new Python, from the checkout; check its exit code unless ``code`` is None.

    ``environment`` is added to this process's; None removes a variable.
    """
    variables = {**os.environ, "PYTHONPATH": python_path(), **environment}
    done = subprocess.run(
        [sys.executable, "-P", *options, "-c", textwrap.dedent(program), *arguments],
        input=input,
        capture_output=True,
        cwd=CHECKOUT,
        env={name: value for name, value in variables.items() if value is not None},
        timeout=LIMIT,
        check=False,
    )
    texts = done.stdout.decode(), done.stderr.decode()
    assert code is None or done.returncode == code, (done.returncode, *texts)
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)


def run_bare(
    program: str, *, input: bytes, folder: Path, options: tuple[str, ...] = ("-Werror",), **environment: str
) -> str:
    """The output of a program that has an empty PATH, a new home and a cache of its own; it prints no errors."""
    needed = {name: os.environ[name] for name in NEEDED if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-P", *options, "-c", program],
        input=input,
        capture_output=True,
        cwd=CHECKOUT,
        env={
            "PATH": "",
            "PYTHONPATH": python_path(),
            "UFUNC_MAGIC_CACHE": str(folder / "worker"),
            "HOME": str(folder),
            **needed,
            **environment,
        },
        timeout=LIMIT,
        check=False,
    )
    assert done.stderr.decode() == ""
    assert done.returncode == 0
    return done.stdout.decode().strip()


def wait_until(done: Callable[[], object]) -> bool:
    """Wait until a condition holds; False after a time in which only what hangs does not."""
    end = time.monotonic() + LIMIT
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def python_path() -> str:
    """PYTHONPATH of a new process that imports the package that is tested."""
    return os.pathsep.join([str(CHECKOUT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
