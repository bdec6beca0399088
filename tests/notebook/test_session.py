"""Real sessions from beginning to end: IPython in a terminal's place, and a Jupyter kernel."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import Kernel, open_kernel

LOGIT = """%%c_ufunc -q
#include <math.h>
double logit(double p) { return log(p / (1 - p)); }
"""
BROKEN = LOGIT.replace("p / (1", "q / (1")
PRINTS = """%%c_ufunc -q
#include <stdio.h>
long long speak(long long n) { printf("%lld bottles\\n", n); return n; }
"""


def terminal(*cells: str) -> str:
    """What a terminal IPython session writes when ``cells`` are typed into it."""
    # In the simple prompt a cell magic ends at the second empty line.
    typed = "".join(f"{cell.rstrip()}\n\n\n" for cell in cells)
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--quick"]
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        command, input=typed, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_terminal_session_compiles_calls_fails_and_recovers() -> None:
    shown = terminal(
        "%load_ext ufunc_magic",
        "import numpy as np",
        LOGIT,
        "isinstance(logit, np.ufunc), float(logit(0.5))",
        BROKEN,
        "'logit' in globals()",
        LOGIT,
        "'again', float(logit(0.5))",
    )
    assert "(True, 0.0)" in shown
    assert "CompileError" in shown
    assert "(%tb shows the whole traceback)" in shown
    assert "Traceback (most recent call last)" not in shown
    assert re.search(r"Out\[\d+\]: False", shown)
    assert "('again', 0.0)" in shown


@pytest.mark.slow
def test_terminal_session_shows_the_whole_traceback_after_tb() -> None:
    shown = terminal("%load_ext ufunc_magic", BROKEN, "%tb")
    assert shown.count("(%tb shows the whole traceback)") == 1
    assert "Traceback (most recent call last)" in shown
    assert "Unexpected exception" not in shown


@pytest.mark.slow
def test_terminal_session_shows_the_table_as_text() -> None:
    shown = terminal("%load_ext ufunc_magic", LOGIT.replace(" -q", " -N 1000"))
    assert re.search(r"logit", shown)
    assert "Python" in shown
    assert "<table" not in shown


@pytest.mark.slow
def test_terminal_session_prints_what_c_prints_before_the_next_prompt() -> None:
    shown = terminal("%load_ext ufunc_magic", PRINTS, "_ = speak(3)", "'after'")
    assert shown.index("3 bottles") < shown.index("'after'")


@pytest.mark.slow
def test_bad_option_is_one_line_in_a_terminal() -> None:
    shown = terminal("%load_ext ufunc_magic", LOGIT.replace("-q", "--paralel"))
    assert "UsageError: --paralel is not an option.\nDid you mean --parallel?" in shown
    assert "Traceback" not in shown


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with open_kernel(tmp_path) as kernel:
        yield kernel


pytestmark = pytest.mark.kernel


def test_kernel_shows_the_report_once_as_table_and_text(kernel: Kernel) -> None:
    messages = kernel.run(LOGIT.replace(" -q", " -N 1000")).messages
    shown = [m["data"] for m in messages if m["type"] in ("execute_result", "display_data")]
    assert len(shown) == 1, messages
    # Where the compiler took long, the line that said so has become the report.
    shown += [m["data"] for m in messages if m["type"] == "update_display_data"]
    assert "logit" in shown[-1]["text/html"]
    assert "logit" in shown[-1]["text/plain"]
    assert kernel.value("type(_).__name__") == "'Report'"


@pytest.mark.slow
def test_the_line_that_says_how_far_it_is_becomes_the_report(kernel: Kernel) -> None:
    kernel.run("from ufunc_magic.render import progress; progress.AFTER = progress.PAUSE = -1")
    messages = kernel.run(LOGIT.replace(" -q", " --time 20ms --sizes 10:100")).messages
    outputs = [m for m in messages if m["type"] in ("display_data", "update_display_data", "execute_result")]
    assert outputs[0]["type"] == "display_data"
    assert "<progress" in outputs[0]["data"]["text/html"]
    assert {m["type"] for m in outputs[1:]} == {"update_display_data"}
    assert len({m["transient"]["display_id"] for m in outputs}) == 1
    assert "logit(p)" in outputs[-1]["data"]["text/plain"]
    assert kernel.value("type(_).__name__") == "'Report'"
    kernel.run("%ufunc_compare np.sqrt np.cbrt --budget 0.02 --sizes 10,20")
    again = [m for m in kernel.run("_").messages if m["type"] == "execute_result"]
    assert "np.cbrt" in again[0]["data"]["text/plain"]


@pytest.mark.slow
def test_kernel_gives_the_same_object_for_the_same_cell(kernel: Kernel) -> None:
    assert {m["type"] for m in kernel.run(LOGIT).messages} == {"status", "execute_input"}
    kernel.run("first = logit")
    kernel.run(LOGIT)
    assert kernel.value("logit is first") == "True"


@pytest.mark.slow
def test_kernel_shows_a_clean_block_and_tb_the_rest(kernel: Kernel) -> None:
    error = next(m for m in kernel.run(BROKEN).messages if m["type"] == "error")
    text = "\n".join(error["traceback"])
    assert error["ename"] == "CompileError"
    assert "In[2]" in text
    assert "Traceback (most recent call last)" not in text
    again = str(kernel.run("%tb"))
    assert "Traceback (most recent call last)" in again
    assert "ufunc_magic/pipeline.py" in again
    assert "Unexpected exception" not in again


@pytest.mark.slow
def test_kernel_knows_a_failed_cell_by_its_identity(kernel: Kernel) -> None:
    kernel.run(LOGIT, cell_id="c1")
    kernel.run(BROKEN.replace("logit", "renamed"), cell_id="c2")
    assert kernel.value("'logit' in globals()") == "True"
    kernel.run(BROKEN.replace("logit", "renamed"), cell_id="c1")
    assert kernel.value("'logit' in globals()") == "False"


@pytest.mark.slow
def test_what_c_prints_comes_with_the_cell_that_called_it(kernel: Kernel) -> None:
    assert kernel.stdout(PRINTS) == ""
    assert [kernel.stdout(f"_ = speak({n})") for n in range(5)] == [f"{n} bottles\n" for n in range(5)]
    assert kernel.stdout("print('python')") == "python\n"


@pytest.mark.slow
def test_python_output_comes_once_while_c_output_is_forwarded(kernel: Kernel) -> None:
    assert kernel.stdout(PRINTS) == ""
    shown = kernel.stdout("import os\nprint('from python')\n_ = os.write(1, b'from os\\n')\n_ = speak(7)")
    assert sorted(shown.splitlines()) == ["7 bottles", "from os", "from python"]


@pytest.mark.slow
def test_bad_option_is_a_usage_error_in_a_kernel(kernel: Kernel) -> None:
    messages = kernel.run(LOGIT.replace("-q", "--paralel")).messages
    assert "Did you mean --parallel?" in str(messages)
    assert "Traceback (most recent call last)" not in str(messages)


@pytest.mark.slow
def test_kernel_completes_options_and_their_values(kernel: Kernel) -> None:
    def completed(text: str) -> list[str]:
        reply = kernel.client.complete(text, reply=True, timeout=300)["content"]
        return [text[: reply["cursor_start"]] + match for match in reply["matches"]]

    assert completed("%%c_ufunc --para") == ["%%c_ufunc --parallel"]
    assert completed("%%c_ufunc --arch=") == ["%%c_ufunc --arch=portable", "%%c_ufunc --arch=native"]


@pytest.mark.slow
def test_kernel_help_shows_options_and_example_cells(kernel: Kernel) -> None:
    reply = kernel.client.inspect("%%c_ufunc", reply=True, timeout=300)["content"]
    text = reply["data"]["text/plain"]
    assert "--parallel" in text
    assert "%%c_ufunc --types f4,f8" in text


@pytest.mark.slow
def test_interrupting_a_cell_leaves_a_working_session(kernel: Kernel) -> None:
    assert kernel.stdout(PRINTS) == ""
    kernel.run("raise KeyboardInterrupt")
    assert kernel.stdout("_ = speak(1)") == "1 bottles\n"


NOISY = """%%c_ufunc -q
#include <stdio.h>
#define X100 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
long long speak(long long n) { printf("%lld bottles\\n", n); return n; }
long long complain(long long n) { fprintf(stderr, "no bottles\\n"); return n; }
long long flood(long long n) { for (long long i = 0; i < n; i++) printf("line %lld\\n", i); return n; }
long long wide(long long n) { for (long long i = 0; i < n; i++) printf("%s", X100 X100); return n; }
"""


@pytest.mark.slow
def test_c_and_python_output_come_in_the_order_they_were_printed(kernel: Kernel) -> None:
    kernel.run(NOISY)
    code = "for n in range(3):\n    print('before', n); _ = speak(n); print('after', n)"
    assert kernel.stdout(code) == "".join(f"before {n}\n{n} bottles\nafter {n}\n" for n in range(3))
    messages = kernel.run(
        "import sys\nprint('a', file=sys.stderr); _ = complain(1); print('b', file=sys.stderr)"
    ).messages
    assert [m["name"] for m in messages if m["type"] == "stream"] == ["stderr"] * len(messages[2:])
    assert "".join(m["text"] for m in messages if m["type"] == "stream") == "a\nno bottles\nb\n"
    # What another process prints to the same place comes, too.
    child = "import subprocess\n_ = speak(1)\n_ = subprocess.run(['echo', 'child'])\nprint('last')"
    assert kernel.stdout(child) == "1 bottles\nchild\nlast\n"


@pytest.mark.slow
def test_a_flood_of_c_output_is_cut(kernel: Kernel) -> None:
    kernel.run(NOISY)
    lines = [f"line {n}" for n in range(10_000)]
    assert kernel.stdout("_ = flood(10_000)").splitlines() == lines
    cut = "[stdout of C is cut after 1,000,000 bytes; %env UFUNC_MAGIC_OUTPUT=100000000 shows more]"
    # 5 MB of one call, which holds the GIL all the while, and of many; more than there is room for.
    for call in ("wide(25_000)", "wide(np.full(5000, 5))", "wide(2**24 // 200 + 6_000)"):
        assert kernel.stdout(f"_ = {call}") == f"{'x' * 1_000_000}\n{cut}\n"
    assert kernel.stdout("_ = speak(1)") == "1 bottles\n"
    assert kernel.stdout("%env UFUNC_MAGIC_OUTPUT=1200000\n_ = speak(1)").endswith("1 bottles\n")
    assert kernel.stdout("_ = wide(6_000)") == "x" * 1_200_000
    assert kernel.stdout("_ = speak(1)\nprint('python')") == "1 bottles\npython\n"


@pytest.mark.slow
def test_output_comes_where_the_system_has_no_files_in_memory(kernel: Kernel) -> None:
    kernel.run("import os; del os.memfd_create")
    assert kernel.stdout(PRINTS) == ""
    assert kernel.stdout("print('before'); _ = speak(1); print('after')") == "before\n1 bottles\nafter\n"


def test_interrupt_before_the_first_statement_stops_the_cell(kernel: Kernel) -> None:
    assert kernel.stdout(PRINTS) == ""
    kernel.run(
        "import os, signal, threading\n"
        "class Early(threading.Thread):\n"
        "    original = threading.Thread\n"
        "    def start(self):\n"
        "        threading.Thread = self.original\n"
        "        os.kill(os.getpid(), signal.SIGINT)  # while the output of C is redirected\n"
        "        super().start()\n"
        "threading.Thread = Early"
    )
    execution = kernel.run("reached = True")
    assert execution.error is not None
    assert execution.error["ename"] == "KeyboardInterrupt"
    assert execution.text("stdout") + execution.text("stderr") == ""
    assert kernel.value("'reached' in globals()") == "False"
    assert kernel.stdout("print('before'); _ = speak(1); print('after')") == "before\n1 bottles\nafter\n"


def test_interrupting_the_kernel_stops_what_runs_and_nothing_else(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run("import os, pathlib")
    process = int(kernel.value("os.getpid()"))

    def interrupted(code: str, *, when: Path) -> list[str]:
        def interrupt() -> None:
            while not when.exists():
                time.sleep(0.02)
            time.sleep(0.3)
            os.kill(process, signal.SIGINT)  # as Jupyter does

        with ThreadPoolExecutor(1) as pool:
            pool.submit(interrupt)
            messages = kernel.run(code).messages
        (error,) = (m for m in messages if m["type"] == "error")
        assert error["ename"] == "KeyboardInterrupt"
        return list(error["traceback"])

    compiler = tmp_path / "gcc"
    compiler.write_text(
        f'#!/bin/sh\ncase " $* " in *" -shared "*) touch {tmp_path}/compiles; exec sleep 1000;; esac\n'
        'exec /usr/bin/env PATH="$REAL_PATH" gcc "$@"\n'
    )
    compiler.chmod(0o755)
    slow = "%%c_ufunc -q\ndouble slow(double x, double n) { for (long i = 0; i < n; i++) x = x * 0.5 + 1; return x; }"
    kernel.run(f"os.environ.update(REAL_PATH=os.environ['PATH'], CC='{compiler}')")
    (said,) = interrupted(slow, when=tmp_path / "compiles")
    assert re.fullmatch(r"KeyboardInterrupt: In\[\d+\] was stopped; it bound nothing\.", said)
    assert kernel.value("'slow' in globals()") == "False"
    kernel.run("del os.environ['CC']")
    kernel.run(slow)
    called = "pathlib.Path('called').touch()\nout = np.zeros(100_000)\nslow(np.zeros(100_000), 1e7, out=out)"
    assert len(interrupted(called, when=tmp_path / "called")) > 1  # the user's own lines
    assert kernel.value("0 < int(np.count_nonzero(out)) < out.size") == "True"
    assert kernel.value("float(slow(1.0, 0.0))") == "1.0"
