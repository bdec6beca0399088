"""A million damaged payloads and cache entries, most of them sealed again, under AddressSanitizer.

    python benchmarks/mutations.py [COUNT] [MINUTES]

Bytes are flipped, cut and joined; values of headers and of cached records are replaced, and the seal is computed anew,
as a program that means it would do.  What is accepted is called with small arrays.  Each batch runs in a child process,
so that a crash is seen and named.  The machine code itself stays as it is: another code is another program.  The result
goes to benchmarks/results/mutations.json, and as a sentence into docs/reliability.md.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import machine
import numpy as np

import ufunc_magic as um
from ufunc_magic import store
from ufunc_magic.model import CellFunction, CompiledCell, ObjectCode, ReportData, UfuncMagicError
from ufunc_magic.runtime import load, pickling, registry
from ufunc_magic.store import atomic_file

RESULTS = Path(__file__).parent / "results" / "mutations.json"
DOCS = Path(__file__).parents[1] / "docs" / "reliability.md"
#: Mutations of a child, which leaves what it has opened open.
BATCH = 2000
#: Half of the time would be the disk's.
_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None

SOURCES = {
    "c": """
#include <stdlib.h>
typedef struct { double x, y; int k; } point;
double twice(double x) { return 2 * x; }
int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
float narrow(float x, short k) { return x * k; }
void both(double x, double *s, double *c) { *s = x + 1; *c = x - 1; }
// ufunc: (n),()->()
double dot(const double *a, int n, double k) { double s = 0; for (int i = 0; i < n; i++) s += a[i] * k; return s; }
// ufunc: (n),(m)->(n+m-1)
void conv(const double *a, const double *b, double *out, int n, int m)
{ for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) out[i + j] += a[i] * b[j]; }
double norm(point p) { return p.x * p.x + p.y; }
char *name_of(void *p, char *text) { return text; }
""",
    "templates": "template <class T> T half(T x) { return x / 2; }\nextern int hidden;\n",
    "cython": """
cdef double square(double x): return x * x
cpdef double cube(double x): return x * square(x)
def total(double[:] a):
    cdef double s = 0
    for i in range(a.shape[0]): s += a[i]
    return s
class Kept: pass
""",
    "cuda": """
__constant__ double scale = 2;
__device__ double scaled(double x) { return x * scale; }
__global__ void fill(double *out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = i; }
""",
}


def prepare(folder: Path) -> None:
    """Write payloads, and entries of a cache, of all kinds of cells."""
    builds = {
        "c": um.compile_c(SOURCES["c"]),
        "c++": um.compile_c(SOURCES["templates"], cplus=True),
        "cython": um.compile_cython(SOURCES["cython"], name="mutated"),
        "cuda": um.compile_cuda(SOURCES["cuda"], device="cpu"),
    }
    for name, build in builds.items():
        (folder / f"{name}.whole").write_bytes(um.dumps(build))
        for function in list(build)[:8]:
            with contextlib.suppress(UfuncMagicError):
                (folder / f"{name}.{function}").write_bytes(um.dumps(build[function]))


# ------------------------------------------------------------------------------------------- mutations

_HEAD = struct.Struct("<4sHHII")
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 12, 63, 64, 65, 255, 256, 1000, 1 << 31, -(1 << 31), 1 << 63, 1 << 70),
    *(1e999, 0.5, "", "x", "(n)->()", "(n),(n)->(n)", "()->(n)", "(3)->(3)", "(n,n)->()", "\0", "%s%n", "../../x"),
    *("\ud800", "ufunc", "plain", "python", "kernel", "reorderable", "int (*)(int)", "double (*)(double, double)"),
    *([], {}, [[]], ["x"], [12, 12], "elf", "os"),
)


def sealed(header: bytes, code: bytes) -> bytes:
    """A payload as `um.dumps` seals it."""
    head = _HEAD.pack(b"UFMO", 1, 0, len(header), len(code))
    return b"".join((head, header, code, hashlib.sha256(head + header + hashlib.sha256(code).digest()).digest()))


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut out, doubled, or another head."""
    kind, at = rng.randrange(5), rng.randrange(len(data) if rng.random() < 0.5 else 2000)
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[: rng.randrange(len(data))]
    end = min(len(data), at + rng.randrange(1, 40))
    if kind == 2:
        return data[:at] + data[end:]
    if kind == 3:
        return data[:end] + data[at:]
    return _HEAD.pack(b"UFMO", 1, rng.choice((0, 0, 1, 2)), rng.getrandbits(32), rng.getrandbits(32)) + data[16:]


def place(tree: Any, rng: random.Random) -> tuple[Any, Any]:
    """A random place of a JSON value: what holds it, and its key there."""
    # What says how code is called, more often than the rest.
    holder = tree["functions"] if tree.get("functions") and rng.random() < 0.6 else tree
    if not isinstance(holder, dict | list):
        return tree, "functions"
    while True:
        key = rng.choice([*holder]) if isinstance(holder, dict) else rng.randrange(len(holder))
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.15:
            return holder, key
        holder = holder[key]


def changed(text: bytes, rng: random.Random) -> Any:
    """A JSON value with one to three of its places changed."""
    tree = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not tree:
            break
        holder, key = place(tree, rng)
        value, kind = holder[key], rng.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, there = place(tree, rng)
            # As text: one value in two places might hold itself.
            holder[key] = json.loads(json.dumps(other[there]))
        elif kind == 2 and isinstance(value, list):
            holder[key] = value * 2 if rng.random() < 0.5 else value[::-1]
        elif kind <= 4 and isinstance(value, int):
            holder[key] = value + rng.choice((-1, 1, 2, 5, 1000, -1000))
        elif kind <= 4 and isinstance(value, str) and value:
            at = rng.randrange(len(value))
            holder[key] = value[:at] + rng.choice(("", "n", "(", "9", value)) + value[at + 1 :]
        elif kind == 5 and isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(value)))
        else:
            holder[key] = copy.copy(rng.choice(_ODD))
    return tree


def written(tree: Any) -> bytes:
    """As canonical JSON, with whatever it holds."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")


class Corpus:
    """Payloads and what they are made of."""

    def __init__(self, folder: Path) -> None:
        self.payloads = [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()]
        self.parts = []
        for data in self.payloads:
            _, _, _, header, code = _HEAD.unpack_from(data)
            text = data[16 : 16 + header]
            self.parts.append((text, data[16 + header : 16 + header + code]))
        self.cache = store.Cache(folder / "entries")
        self.entries = []
        for n, data in enumerate(self.payloads):
            code = ObjectCode.from_bytes(data)
            if not code.code or code.module:  # a module is imported once
                continue
            record = registry_record(code)
            entry = self.cache.publish(store.make_key([str(n)]), record=record, code=code.code)
            self.entries.append((entry, code.header, record.partition(b"\n")[2]))


def registry_record(code: ObjectCode) -> bytes:
    """What the cache holds of a cell beside its code."""
    functions = tuple(CellFunction(**vars(f)) for f in code.functions)
    return CompiledCell(code, ReportData(functions)).to_record()


def forget() -> None:
    """Have the next load open everything again."""
    registry._loaded.clear()
    pickling._known.clear()


def call(result: Any) -> int:
    """Call every ufunc of what was loaded, or it, with small arrays."""
    functions = [result] if isinstance(result, np.ufunc) else list(result.values()) if hasattr(result, "values") else []
    count = 0
    for function in functions:
        if not isinstance(function, np.ufunc):
            continue
        for kind in ("f4", "i2", "f8"):
            arrays = [np.ones(3, kind) for _ in range(function.nin)]
            with contextlib.suppress(TypeError, ValueError):
                function(*arrays)
                count += 1
    return count


def one(corpus: Corpus, rng: random.Random) -> str:
    """Try one mutation; what came of it, in a word or two."""
    kind = rng.random()
    try:
        if kind < 0.4:
            data = rng.choice(corpus.payloads)
            um.loads(damaged(data, rng))
            return "damaged, loaded"
        forget()
        if kind < 0.92:
            text, code = rng.choice(corpus.parts)
            header = damaged(text.ljust(2001), rng) if rng.random() < 0.15 else written(changed(text, rng))
            call(um.loads(sealed(header, code)))
            return "sealed again, loaded"
        entry, text, reported = rng.choice(corpus.entries)
        report = damaged(reported.ljust(2001), rng) if rng.random() < 0.2 else reported
        record = written(changed(text, rng)) + b"\n" + report
        path = corpus.cache.path / "keys" / entry.key
        sealed_entry = atomic_file.seal(entry.key, entry.digest, record)
        path.write_bytes(damaged(sealed_entry.ljust(2001), rng) if rng.random() < 0.3 else sealed_entry)
        stored = corpus.cache.get(entry.key)
        if stored is None:
            return "cache entry, refused"
        cell = CompiledCell.from_record(stored.record, stored.code, code_digest=stored.digest)
        call(load(cell.object_code, stored.library, report_data=cell.report_data))
        return "cache entry, loaded"
    except UfuncMagicError as error:
        if not str(error):
            raise AssertionError("an error without words") from error
        if kind < 0.4:
            return "damaged, refused"
        return "sealed again, refused" if kind < 0.92 else "cache entry, refused"


# ----------------------------------------------------------------------------------------- in a child


def batch(corpus: Corpus, seed: int, shared: mmap.mmap) -> None:
    """Run a batch in this process; what came of it stands in ``shared`` at its end."""
    outcomes: Counter[str] = Counter()
    worst = ""
    for n in range(BATCH):
        shared[:8] = struct.pack("<q", n)
        try:
            outcomes[one(corpus, random.Random(f"{seed} {n}"))] += 1
        except BaseException as fault:  # noqa: BLE001 - that is what is looked for
            outcomes["raw error"] += 1
            worst = worst or f"{seed} {n}: {fault!r}"[:800]
    text = json.dumps([outcomes, worst]).encode()
    shared[8 : 12 + len(text)] = struct.pack("<I", len(text)) + text


def campaign(folder: Path, count: int, minutes: float) -> dict[str, Any]:
    """Run ``count`` mutations in children of this process, or as many as the minutes allow."""
    corpus = Corpus(folder)
    for data in corpus.payloads:  # what is asked once
        call(um.loads(data))
    shared = mmap.mmap(-1, 1 << 16)
    outcomes: Counter[str] = Counter()
    crashes, errors = [], []
    began = time.monotonic()
    for seed in range(0, count, BATCH):
        if time.monotonic() - began > 60 * minutes:
            break
        shared[8:12] = bytes(4)
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                batch(corpus, seed, shared)
                status = 0
            os._exit(status)
        _, status = os.waitpid(child, 0)
        (n,), (size,) = struct.unpack("<q", shared[:8]), struct.unpack("<I", shared[8:12])
        if status or not size:
            crashes.append(f"{seed} {n}: status {status}")
            print("CRASH", crashes[-1], flush=True)
            continue
        came, worst = json.loads(shared[12 : 12 + size])
        outcomes.update(came)
        if worst:
            errors.append(worst)
            print(worst, flush=True)
        if seed // BATCH % 20 == 0:
            print(seed + BATCH, dict(outcomes), round(time.monotonic() - began), "s", flush=True)
    return {"mutations": sum(outcomes.values()), "outcomes": outcomes, "crashes": crashes, "raw errors": errors}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 1e9
    if os.environ.get("UFM_MUTATIONS"):
        result = campaign(Path(os.environ["UFM_MUTATIONS"]), count, minutes)
        Path(os.environ["UFM_MUTATIONS"], "result").write_text(json.dumps(result), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        os.environ["UFUNC_MAGIC_CACHE"] = str(Path(folder, "cache"))
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        prepare(corpus)
        library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        environment = {
            **os.environ,
            "UFM_MUTATIONS": str(corpus),
            "LD_PRELOAD": library,
            "ASAN_OPTIONS": "detect_leaks=0,allocator_may_return_null=1",
            "PYTHONMALLOC": "malloc",
            "OPENBLAS_NUM_THREADS": "1",
        }
        subprocess.run([sys.executable, __file__, str(count), str(minutes)], env=environment, check=True)
        result = {"machine": machine.describe(), **json.loads(Path(corpus, "result").read_text(encoding="utf-8"))}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    start, end = "<!-- mutations -->\n", "<!-- end of mutations -->"
    head, _, rest = DOCS.read_text(encoding="utf-8").partition(start)
    DOCS.write_text(f"{head}{start}{sentence(result)}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
    print(sentence(result))
    sys.exit(bool(result["crashes"] or result["raw errors"]))


def sentence(result: dict[str, Any]) -> str:
    """What the documentation says of it."""
    came = result["outcomes"]
    return (
        f"({result['machine']['date']}) {result['mutations']:,} mutations: {came.get('damaged, refused', 0):,} damaged "
        f"payloads refused by their seal; of those sealed again {came.get('sealed again, refused', 0):,} refused and "
        f"{came.get('sealed again, loaded', 0):,} loaded, where what had changed plays no part in a call; of cache "
        f"entries {came.get('cache entry, refused', 0):,} refused and {came.get('cache entry, loaded', 0):,} loaded. "
        f"{len(result['crashes'])} crashes, {len(result['raw errors'])} errors that are not the package's own."
    )


if __name__ == "__main__":
    main()
