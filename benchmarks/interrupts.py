"""Stop at random moments of what a cell does: Stops nobody heard, kernels lost, files left, wrong results afterwards.

    python benchmarks/interrupts.py [TRIES [SEED [ACTION ...]]]

A Jupyter kernel runs each action ``TRIES`` times and gets SIGINT, as Jupyter sends it, after a random part of the time
that the action takes.  Then a cell checks results, and the script looks for files that remain.  The seed is printed;
times are wall time on a machine that may do other things, so that they are worst cases.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

import psutil

RESULTS = Path(__file__).parent / "results" / "interrupts.json"
#: Seconds after which a Stop that has not ended the cell counts as not heard.
UNHEARD = 20.0
#: Words in a cell's output that nobody should see.
NOISE = "Error in callback", "Exception ignored", "_Forwarding", "Exception in thread", "CacheWarning"

SETUP = """
import os, pickle, numpy as np, ufunc_magic as um
X = np.linspace(0.5, 1.5, 100_000)
def check(f, scale=2.0):
    right = bool(np.array_equal(f(X), X * scale)) and f(3.0) == 3.0 * scale
    return "right" if right and pickle.loads(pickle.dumps(f))(2.0) == 2.0 * scale else "wrong"
"""
ENDLESS = "volatile int on = x > 1e6; while (on); "
SLOW = """// ufunc: identity=0
double slow(double x, double n) { for (long i = 0; i < (long)n; i++) x = x * 0.5 + 1; return x; }"""


def double(name: str, more: str = "") -> str:
    return f"double {name}(double x) {{ {more}return 2 * x; }}"


@dataclass(frozen=True)
class Action:
    """What is interrupted: cells to prepare, the cell, and one whose value is 'right'.

    ``{k}`` is the number of the try.  ``lasts`` is the time it takes, 0 where it is measured.
    """

    before: tuple[str, ...]
    cell: str
    check: str
    lasts: float = 0.0


ACTIONS = {
    # Of IPython alone: what Jupyter itself loses is no fault of ours.
    "Python": Action((), "while True: pass", "'right'", 0.2),
    "compile": Action((), "%%c_ufunc -q\n" + double("f", "x += {k} - {k}; "), ""),
    "trial": Action(
        (),
        "%%c_ufunc -q\n" + double("f", "for (volatile long i = {k}; i < 30000000; i++); "),
        "'f' not in globals() or f(3.0) == 6.0",
    ),
    "report": Action((), "%%c_ufunc --time 0.5\n" + double("f", "x += {k} - {k}; "), ""),
    "report again": Action(("%%c_ufunc -q\n" + double("f"),), "%%c_ufunc --time 1\n" + double("f"), ""),
    "cython": Action((), "%%cython_ufunc -q\ncpdef double f(double x):\n    return 2 * x + {k} - {k}", ""),
    "call": Action(("%%c_ufunc -q\n" + double("g", ENDLESS),), "g(np.full(1000, 2e6))", "check(g)", 0.3),
    "calls": Action(("%%c_ufunc -q\n" + double("g"),), "while True: y = g(X)", "check(g)", 0.2),
    "reduce": Action(
        ("%%c_ufunc -q\n" + SLOW,),
        "slow.reduce(np.full(100_000, 1e7))",
        "'right' if slow(4.0, 1.0) == 3.0 else 'wrong'",
        0.3,
    ),
    "compare": Action(("%%c_ufunc -q\n" + double("g"),), "um.compare(g, lambda x: 2 * x, X, time=0.5)", "check(g)"),
    "pickle": Action(
        (), "b = um.compile_c(SOURCE, guard=False)\npickle.dumps(b.g)", "check(um.compile_c(SOURCE, guard=False).g)"
    ),
    "dumps": Action(
        (),
        "b = um.compile_c(SOURCE, guard=False)\num.dumps(b)",
        "check(um.loads(um.dumps(um.compile_c(SOURCE, guard=False))).g)",
    ),
    "sandbox": Action(("%%c_ufunc -q --sandbox\n" + double("s", ENDLESS),), "s(2e6)", "check(s)", 0.2),
    "sandbox, first call": Action((), "%%c_ufunc -q --sandbox\n" + double("s", ENDLESS), "check(s)"),
    "threads": Action(
        ("%%c_ufunc -q --parallel\n" + double("p", ENDLESS),), "p(np.full(100_000, 2e6))", "check(p)", 0.3
    ),
}


@dataclass
class Found:
    """What came of an action's tries."""

    tries: int = 0
    stopped: int = 0
    unheard: int = 0
    lost: int = 0
    wrong: int = 0
    noise: int = 0
    files: int = 0
    seconds: list[float] = field(default_factory=list)
    worst: list[str] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        taken = (
            {"median_s": round(statistics.median(self.seconds), 3), "longest_s": round(max(self.seconds), 3)}
            if self.seconds
            else {}
        )
        numbers = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        return {**numbers, **taken, "worst": self.worst[:3]}


class Session:
    """A kernel with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client import KernelManager

        self.cache = folder / "cache"
        self.manager = KernelManager()
        self.manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        environment = {**os.environ, "UFUNC_MAGIC_CACHE": str(self.cache), "IPYTHONDIR": str(folder / "ipython")}
        self.manager.start_kernel(cwd=str(folder), env=environment)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=300)
        self.process = psutil.Process(self.manager.provisioner.pid)  # type: ignore[union-attr]
        self.run("%load_ext ufunc_magic\n" + SETUP)
        time.sleep(2)
        for _ in range(240):  # another process compiles what the first cell needs
            if self.list_files():
                time.sleep(0.5)

    def run(self, code: str, stop_after: float | None = None) -> tuple[list[dict[str, Any]], float, int]:
        """Run a cell; return its messages, the seconds (from Stop on, if there is one), and the Stops that it took."""
        message = self.client.session.msg(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False},
        )
        self.client.shell_channel.send(message)
        received: list[dict[str, Any]] = []
        began, stops = time.perf_counter(), 0
        while True:
            try:
                answer = self.client.get_iopub_msg(timeout=UNHEARD)
            except Empty:
                if stop_after is None or stops > 3:
                    raise
                stops += 1
                self.process.send_signal(signal.SIGINT)
                continue
            if answer["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            state = answer["content"].get("execution_state")
            if state == "busy" and stop_after is not None:
                time.sleep(stop_after)
                began, stops = time.perf_counter(), 1
                self.process.send_signal(signal.SIGINT)
            if state == "idle":
                return received, time.perf_counter() - began, stops
            received.append({"type": answer["msg_type"], **answer["content"]})

    def value(self, code: str) -> str:
        for message in self.run(code)[0]:
            if message["type"] == "execute_result":
                return str(message["data"]["text/plain"])
            if message["type"] == "error":
                return f"{message['ename']}: {message['evalue']}"
        return ""

    def list_files(self) -> list[str]:
        """What is left in the cache's scratch folder, and unfinished files."""
        scratch = self.cache / "scratch"
        left = list(scratch.iterdir()) if scratch.is_dir() else []
        return [
            str(path.relative_to(self.cache)) for path in [*left, *(p for p in self.cache.rglob(".*") if p.is_file())]
        ]

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def wait_for_nothing(look: Any) -> list[str]:
    """What ``look`` finds, when it still finds it after some seconds: background work ends first."""
    left: list[str] = look()
    for _ in range(40):
        if not left:
            break
        time.sleep(0.25)
        left = look()
    return left


def attack(session: Session, action: Action, tries: int, chance: random.Random, found: Found) -> None:
    def fill(text: str, k: int) -> str:
        source = double("g", f"x += {k} - {k}; ")
        return text.replace("{k}", str(k)).replace("SOURCE", repr(source))

    for cell in action.before:
        session.run(cell)
    # The first one may compile the driver.
    taken = [session.run(fill(action.cell, chance.randrange(10**6)))[1] for _ in range(0 if action.lasts else 4)]
    lasts = action.lasts or statistics.median(taken[1:])
    for _ in range(tries):
        k, delay = chance.randrange(10**6), chance.uniform(0, lasts)
        found.tries += 1
        try:
            messages, seconds, stops = session.run(fill(action.cell, k), stop_after=delay)
        except Empty:
            found.lost += 1
            found.worst.append(f"the kernel never came back, after {delay:.3f} s")
            raise
        text = "".join(str(m.get("text", "")) for m in messages if m["type"] == "stream")
        errors = [m for m in messages if m["type"] == "error"]
        stopped = any(m["ename"] == "KeyboardInterrupt" for m in errors)
        others = [m["ename"] for m in errors if m["ename"] != "KeyboardInterrupt"]
        found.stopped += stopped
        found.seconds += [seconds] if stops == 1 and stopped else []
        if stops > 1:
            found.unheard += 1
            found.worst.append(f"not heard after {delay:.3f} s")
        if others or any(word in text for word in NOISE):
            found.noise += 1
            found.worst.append(f"after {delay:.3f} s: {others} {text[:600]}")
        right = session.value(fill(action.check or "globals().get('f') is None or check(f)", k)).strip("'")
        if right not in ("right", "True"):
            found.wrong += 1
            found.worst.append(f"after {delay:.3f} s: {right}")
        if left := wait_for_nothing(session.list_files):
            found.files += len(left)
            found.worst.append(f"left after {delay:.3f} s: {left}")


def main() -> None:
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    names = sys.argv[3:] or list(ACTIONS)
    print(f"seed {seed}, load {os.getloadavg()[0]:.1f}", flush=True)
    rows: dict[str, Any] = {}
    total: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            session, found = Session(Path(folder)), Found()
            try:
                attack(session, ACTIONS[name], tries, random.Random(f"{seed} {name}"), found)
            except Empty:
                pass
            finally:
                session.close()
        rows[name] = found.describe()
        total.update({kind: value for kind, value in rows[name].items() if isinstance(value, int)})
        print(f"{name:20}", json.dumps(rows[name]), flush=True)
    print(json.dumps(total), f"load {os.getloadavg()[0]:.1f}")
    if not sys.argv[3:]:
        RESULTS.write_text(json.dumps({"seed": seed, "tries": tries, "total": total, "rows": rows}, indent=1) + "\n")
    sys.exit(any(total[kind] for kind in ("unheard", "lost", "wrong", "noise", "files")))


if __name__ == "__main__":
    main()
