"""The object for this CPU that a cell gets first, and the portable one that follows: one function, whoever asks."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic import frontends, toolchain
from ufunc_magic.frontends.native import this_level
from ufunc_magic.model import unpack
from ufunc_magic.runtime import load

pytestmark = pytest.mark.skipif(not this_level(), reason="cells have clones for levels of x86-64 on Linux only")

SOURCE = """
#include <math.h>
double blend(double a, double b, double c) { return a * b + exp(-c * c); }
long odd(long n) { long k = 0; while (n != 1 && k < 90) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }
static int calls;
int count(int step) { calls += step; return calls; }
"""


_numbers = itertools.count()


def new() -> str:
    """A cell that nobody has compiled."""
    return f"{SOURCE}// {os.getpid()} {next(_numbers)}"


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the units that are compiled from now on."""
    names: list[str] = []
    compile_shared = toolchain.compile_shared

    def noted(*arguments: Any, **keywords: Any) -> Any:
        names.append(keywords["name"])
        return compile_shared(*arguments, **keywords)

    monkeypatch.setattr(toolchain, "compile_shared", noted)
    return names


def test_a_cell_is_compiled_for_this_cpu_and_once_more_when_it_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    um.compile_c("#include <math.h>\ndouble f(double x) { return exp(x); }")  # driver and SIMD math
    compiled = compilations(monkeypatch)
    build = um.compile_c(new(), name="cell")
    assert build.loaded.object_code.target.level.startswith("native: ")
    assert compiled == ["cell"]
    assert unpack(um.dumps(build.blend))[0].target.level == "baseline"
    assert compiled == ["cell", "cell"]
    um.dumps(build.odd)
    pickle.dumps(build)
    assert build.object_code.target.level == "baseline"
    assert compiled == ["cell", "cell"]


def test_both_objects_give_the_same_results_to_the_last_bit() -> None:
    build = um.compile_c(new())
    portable = load(build.object_code)
    random = np.random.default_rng(7)
    a, b, c = (random.normal(size=1003) for _ in range(3))
    n = random.integers(1, 10**6, size=1003)
    for part in (slice(None), slice(None, None, 3), slice(5, 6)):
        assert np.array_equal(build.blend(a[part], b[part], c[part]), portable.blend(a[part], b[part], c[part]))
        assert np.array_equal(build.odd(n[part]), portable.odd(n[part]))
    hypot = um.compile_c("double step(double a, double b) { return a * 0.3 + b; }")
    assert hypot.step.reduce(a) == load(hypot.object_code).step.reduce(a)


def test_what_comes_back_is_the_function_that_went() -> None:
    build = um.compile_c(new())
    assert um.loads(um.dumps(build.blend)) is build.blend
    assert pickle.loads(pickle.dumps(build.count)) is build.count
    assert pickle.loads(pickle.dumps(build)) == build


def test_another_process_finds_either_object() -> None:
    source = new()
    script = f"""
        import ufunc_magic as um
        build = um.compile_c({source!r})
        print(build.cached, build.loaded.object_code.target.level.partition(":")[0], build.odd(27))
    """

    def elsewhere() -> str:
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
        )
        return ran.stdout.strip()

    assert elsewhere() == "False native 90"
    assert elsewhere() == "True native 90"
    script = f"{textwrap.dedent(script)}um.dumps(build.odd)\n"
    assert elsewhere() == "True native 90"
    assert elsewhere() == "True baseline 90"


def test_what_reads_files_of_the_users_is_portable_at_once(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#define THREE 3\n")
    build = um.compile_c('#include "own.h"\nint f(int x) { return THREE * x; }', include=[str(tmp_path)])
    assert build.loaded.object_code.target.level == "baseline"
    (tmp_path / "own.h").write_text("#define THREE 4\n")
    assert um.loads(um.dumps(build.f))(2) == 6


def test_the_background_makes_it_and_who_asks_meanwhile_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    build = um.compile_c(new())
    compiled, go_on = compilations(monkeypatch), threading.Event()
    from ufunc_magic.frontends import c

    compile_cell = c.compile

    def when_told(*arguments: Any, **keywords: Any) -> Any:
        assert go_on.wait(60)
        return compile_cell(*arguments, **keywords)

    monkeypatch.setattr(c, "compile", when_told)
    frontends.complete_in_background(build.loaded)
    sent: list[bytes] = []
    asking = threading.Thread(target=lambda: sent.append(um.dumps(build.odd)))
    asking.start()
    go_on.set()
    asking.join()
    assert unpack(sent[0])[0].target.level == "baseline"
    assert compiled.count("<c>") == 1


def test_the_end_of_python_waits_for_nobody() -> None:
    script = """
        import subprocess, time
        import ufunc_magic as um
        from ufunc_magic import frontends
        from ufunc_magic.toolchain import processes

        build = um.compile_c("double f(double x) { return x + 1; }", guard=False)

        class NeverEnds(subprocess.Popen):
            def __init__(self, command, **keywords):
                super().__init__(["sleep", "600"], **keywords)
                print(self.pid, flush=True)

        processes.subprocess.Popen = NeverEnds
        frontends.complete_in_background(build.loaded)
        while not processes._background:
            time.sleep(0.01)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert ran.stdout.split()
    for pid in ran.stdout.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_another_thread_may_come_between_the_question_and_the_call() -> None:
    build = um.compile_c(new())
    complete = build.loaded.complete
    assert complete

    class Overtaken:
        def __bool__(self) -> bool:
            build.loaded.complete = None  # as the other thread does
            return True

        def __call__(self) -> Any:
            return complete()

    build.loaded.complete = Overtaken()
    assert build.object_code.target.level == "baseline"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_makes_it_itself() -> None:
    build = um.compile_c(new())
    read, write = os.pipe()
    with frontends.portable._one_at_a_time:  # as the thread of the parent would
        if not (child := os.fork()):
            try:
                os.write(write, unpack(um.dumps(build.odd))[0].target.level.encode())
            finally:
                os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"baseline"
    os.close(read)


def test_a_notebook_is_told_nothing_when_the_background_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    build = um.compile_c(new())

    def refused(*arguments: Any, **keywords: Any) -> Any:
        raise um.ToolchainError("The compiler is gone.", remedy="Install it.")

    with monkeypatch.context() as patch:
        patch.setattr(toolchain, "compile_shared", refused)
        frontends.complete_in_background(build.loaded)
        for thread in threading.enumerate():
            if thread.name == "ufunc_magic-portable":
                thread.join()
        assert build.odd(27) == 90
        with pytest.raises(um.ToolchainError, match="gone"):
            um.dumps(build.odd)
    assert um.loads(um.dumps(build.odd)) is build.odd
