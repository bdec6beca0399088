"""Ten thousand different cells in one process: what each one leaves in memory, and how long the last ones take.

    python benchmarks/long_session.py [CELLS] [BEFORE]

Each cell has a constant of its own, which is written into machine code that was compiled once: compiling is not what is
measured.  Every cell goes the way of a cell found in the cache, is opened, and called.  BEFORE is a folder with another
version of the package, measured in the same run.  The result goes to benchmarks/results/long_session.json.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "long_session.json"
DOCS = Path(__file__).parents[1] / "docs" / "reliability.md"


def state() -> dict[str, int]:
    """Bytes of this process in memory, its mappings and descriptors."""
    gc.collect()
    fields = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return {
        "resident": 1024 * int(fields["Rss"].split()[0]),
        "own": 1024 * int(fields["Private_Dirty"].split()[0]),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def cells(count: int) -> dict[str, Any]:
    """Open and call ``count`` cells."""
    import ufunc_magic as um
    from ufunc_magic import store
    from ufunc_magic.languages.c import LANGUAGE
    from ufunc_magic.model import make_options

    options, first = make_options({"guard": False}), 1234567.5
    text = "double f(double x) {{ return x * {} + 1; }}\n".format
    build = um.compile_c(text(first), guard=False)
    whole = build.object_code  # the portable one, which stands under the key itself
    cache = store.open_default()
    entry = cache.get(LANGUAGE.make_key(text(first), options=options))
    assert entry is not None
    pattern = struct.pack("<d", first)
    assert whole.code.count(pattern) >= 1
    kept, seconds, states = [], [], []
    for n in range(count):
        constant = 2000000.5 + n
        code = entry.code.replace(pattern, struct.pack("<d", constant))
        record = entry.record.replace(str(first).encode(), str(constant).encode())
        source = text(constant)
        cache.publish(LANGUAGE.make_key(source, options=options), record=record, code=code)
        began = time.process_time()  # the machine may have other work
        built = um.compile_c(source, guard=False)
        value = built.f(2.0)
        seconds.append(time.process_time() - began)
        assert value == 2 * constant + 1, (value, constant)
        assert built.cached
        kept.append(built.f)
        if n + 1 in (500, count):
            states.append(state())
    one = {name: (states[1][name] - states[0][name]) / (count - 500) for name in states[0]}
    tenth = count // 10
    return {
        "of each cell": {name: round(value, 2) for name, value in one.items()},
        "bytes of code": len(entry.code),
        "in all": states[1],
        "first tenth, ms": round(sum(seconds[500 : 500 + tenth]) / tenth * 1e3, 3),
        "last tenth, ms": round(sum(seconds[-tenth:]) / tenth * 1e3, 3),
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    if os.environ.get("UFM_LONG_SESSION"):
        print(json.dumps(cells(count)))
        return
    import machine

    folders = {"now": str(Path(__file__).parents[1])}
    if len(sys.argv) > 2:
        folders = {"before": sys.argv[2], **folders}
    result: dict[str, Any] = {"machine": machine.describe(), "cells": count}
    for name, folder in folders.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = {
                **os.environ,
                "UFUNC_MAGIC_CACHE": str(Path(cache, "cache")),
                "UFUNC_MAGIC_CACHE_MAX": "20G",
                "UFM_LONG_SESSION": "1",
                "PYTHONPATH": folder,
            }
            command = [sys.executable, __file__, str(count)]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        result[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, json.dumps(result[name], indent=1), flush=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    start, end = "<!-- long -->\n", "<!-- end of long -->"
    head, _, rest = DOCS.read_text(encoding="utf-8").partition(start)
    DOCS.write_text(f"{head}{start}{sentence(result)}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def sentence(result: dict[str, Any]) -> str:
    """What the documentation says of it."""
    now, each = result["now"], result["now"]["of each cell"]
    before = result.get("before", {}).get("of each cell")
    former = f" (before: {before['own'] / 1e3:.0f} kB, {before['mappings']:.0f} mappings)" if before else ""
    return (
        f"({result['machine']['date']}) {result['cells']:,} different cells in one process: each takes "
        f"{each['own'] / 1e3:.0f} kB and {each['mappings']:.0f} mappings{former}, and its file of "
        f"{now['bytes of code'] / 1e3:.0f} kB, which the system shares and may drop; file descriptors stay as they "
        f"are. The first thousand take {now['first tenth, ms']} ms of the processor each, the last "
        f"{now['last tenth, ms']} ms: the system's loader looks through all libraries to open one more."
    )


if __name__ == "__main__":
    main()
