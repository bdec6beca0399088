"""Faults of cells, each tried in a real Jupyter kernel, and what came of them.

``rows()`` gives the rows of the table in ``docs/reliability.md``.  After every fault the kernel must still have its
variables, compile and compute; whatever processes it has beside the helper are counted as leaked.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty

import psutil
from jupyter_client import KernelManager

CRASHES = Path(__file__).parents[2] / "tests" / "cells" / "crash"
CELLS = Path(__file__).parent / "cells"
CONTAINED = ("CellCrashed", "CellExited", "CellAssertionError")
CHECK = """
import numpy as np
assert precious.sum() == 499999500000.0
get_ipython().run_cell_magic("c_ufunc", "-q", "double still_here(double x) {{ return x + {0}; }}")
assert still_here(1.0) == 1.0 + {0}
print("as before")
"""


@dataclass(frozen=True)
class Row:
    """One row of the table: the fault, what came of it, and whether anything was lost."""

    fault: str
    came: str
    kernel_lost: bool = False
    wrong: bool = False
    leaked: int = 0


class Kernel:
    """A Jupyter kernel with the extension loaded."""

    def __init__(self) -> None:
        self.manager = KernelManager()
        self.manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        cache = tempfile.mkdtemp(prefix="ufunc-magic-reliability-")
        self.manager.start_kernel(env={**os.environ, "UFUNC_MAGIC_CACHE": cache})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)
        self.process = psutil.Process(self.manager.provisioner.pid)
        self.count = 1
        self.run("%load_ext ufunc_magic\nimport numpy as np\nprecious = np.arange(1e6)")
        self.run('get_ipython().run_cell_magic("c_ufunc", "-q", "double warm(double x) { return x; }")')

    def run(self, code: str, *, interrupt_after: float = 0.0) -> tuple[str, str]:
        """The error's name and text (or "" and what was printed or returned)."""
        message = self.client.execute(code)
        timer = threading.Timer(interrupt_after, lambda: self.process.send_signal(signal.SIGINT))
        if interrupt_after:
            timer.start()
        error, text = "", ""
        try:
            while True:
                answer = self.client.get_iopub_msg(timeout=180)
                if answer["parent_header"].get("msg_id") != message:
                    continue
                content = answer["content"]
                match answer["msg_type"]:
                    case "error":
                        error, text = content["ename"], content["evalue"]
                    case "stream" if not error:
                        text += content["text"]
                    case "execute_result":
                        text += content["data"]["text/plain"]
                    case "status" if content["execution_state"] == "idle":
                        return error, text
        except Empty:
            return "kernel does not answer", ""
        finally:
            timer.cancel()

    def lost(self) -> bool:
        self.count += 1
        return not self.process.is_running() or "as before" not in self.run(CHECK.format(self.count))[1]

    def strays(self) -> int:
        """Running processes other than the helper, those that it keeps ready, a sandbox, and compilers that wait."""
        ours = {"ufunc-helper", "ufunc-ready", "ufunc-sandbox", "cc1", "cc1plus", ""}
        deadline = time.monotonic() + 5
        while True:
            left = [c for c in self.process.children(recursive=True) if name_of(c) not in ours]
            if not left or time.monotonic() > deadline:
                return len(left)
            time.sleep(0.1)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def name_of(process: psutil.Process) -> str:
    """A process's name, or "" where it has ended."""
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.name()
    except psutil.NoSuchProcess:
        return ""


def word(text: str, of: str) -> str:
    """What stands behind ``// of:`` in a cell."""
    found = re.search(rf"^(?://|#) {of}: ?(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def tried(kernel: Kernel, fault: str, text: str) -> Row:
    """Run one faulty cell (and what it says shall follow), and look at what is left."""
    magic, _, options = (word(text, "magic") or "c_ufunc -q").partition(" ")
    then, interrupted = word(text, "then"), "// interrupted" in text
    code = f"get_ipython().run_cell_magic({magic!r}, {options!r}, {text!r})"
    error, said = kernel.run(code, interrupt_after=float(interrupted and not then))
    if then and not error:
        error, said = kernel.run(then, interrupt_after=float(interrupted))
    first = said.strip().partition("\n")[0]
    if word(text, "bound") and not error:
        # Of the report, what says where functions fail, and which are not bound.
        lines = re.findall(r"^note:.*(?:\n  .*)*|^\S+ error:.*(?:\n  .*)?", said, re.MULTILINE)
        first = "; ".join([f"bound: {word(text, 'bound')}", *(" ".join(line.split()) for line in lines)])
        why = word(text, "refused").partition(" ")[2].rpartition(", line")[0]
        bad = word(text, "note").partition(",")[0] not in first or why[:16] not in first
        return Row(fault, re.sub(r"In\[\d+\]", "In[n]", first), kernel.lost(), bad, kernel.strays())
    came = f"{error}: {first}".removesuffix(": ") if error else "bound"
    expected = word(text, "expect") or ("bound" if word(text, "bound") else "")
    return Row(fault, came, kernel.lost(), wrong(expected, error), kernel.strays())


def wrong(expected: str, error: str) -> bool:
    """Whether a cell did not end as it says; one that says nothing has to end in an error."""
    bound = expected.startswith(("note", "bound"))
    return bound != (not error) or error not in ("", *CONTAINED, "KeyboardInterrupt")


def rows() -> Iterator[Row]:
    """Every fault, one after the other in one kernel; then the kernel is killed."""
    kernel = Kernel()
    try:
        for path in sorted(CRASHES.glob("*.c")):
            yield tried(kernel, f"`{path.stem}`", path.read_text())
        for path in sorted(CELLS.iterdir()):
            yield tried(kernel, word(path.read_text(), "fault"), path.read_text())
        children = kernel.process.children(recursive=True)
        kernel.process.kill()
        _, alive = psutil.wait_procs(children, timeout=10)
        yield Row("the kernel itself is killed", "its helper processes end with it", leaked=len(alive))
    finally:
        kernel.close()


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
