"""Twenty ordinary Cython programs, compiled by %%cython and by %%cython_ufunc: what a call costs, measured in turns.

    python benchmarks/cython_programs.py [NAME ...]

The processor time of a call, the least of all rounds, and the median of the rounds' ratios, in which a slow second of
the machine cancels; the result goes to benchmarks/results/cython_programs.json.  Both ways must give the same result.
"""

from __future__ import annotations

import json
import operator
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import numpy as np
from IPython.core.interactiveshell import InteractiveShell

RESULTS = Path(__file__).parent / "results" / "cython_programs.json"
ROUNDS, LEAST = 120, 2e-3  # seconds of a sample
TEXT = "the quick brown fox jumps over the lazy dog while seven wizards brew strong potions " * 40
NUMBERS = [(7919 * k) % 1009 for k in range(400)]
GRAPH = {k: [(3 * k + 1) % 500, (7 * k + 2) % 500, (k * k) % 500] for k in range(500)}

#: Name -> the cell, and the arguments of its function ``run``.
PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "edit distance of strings": ("""
def run(str a, str b):
    cdef int i, j
    last = list(range(len(b) + 1))
    for i in range(len(a)):
        row = [i + 1]
        for j in range(len(b)):
            row.append(min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] != b[j])))
        last = row
    return last[-1]
""", (TEXT[:60], TEXT[30:95])),
    "words of a text": ("""
def run(str text):
    cdef dict found = {}
    for word in text.split():
        found[word] = found.get(word, 0) + 1
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
""", (TEXT,)),
    "a cipher of letters": ("""
def run(str text, int shift):
    letters = []
    for c in text:
        if 'a' <= c <= 'z':
            letters.append(chr((ord(c) - 97 + shift) % 26 + 97))
        else:
            letters.append(c)
    return ''.join(letters)
""", (TEXT[:1500], 3)),
    "equal words": ("""
def run(list words):
    cdef int equal = 0
    for a in words:
        for b in words:
            if a == b or a < b and a.startswith('s'):
                equal += 1
    return equal
""", (TEXT.split()[:120],)),
    "a checksum of bytes": ("""
def run(bytes data):
    cdef unsigned int a = 1, b = 0
    cdef unsigned char c
    for c in data:
        a = (a + c) % 65521
        b = (b + a) % 65521
    return (b << 16) | a
""", (TEXT.encode() * 4,)),
    "a sieve in a list": ("""
def run(int n):
    cdef int k, m
    sieve = [True] * (n + 1)
    primes = []
    for k in range(2, n + 1):
        if sieve[k]:
            primes.append(k)
            for m in range(k * k, n + 1, k):
                sieve[m] = False
    return primes
""", (4000,)),
    "a sort of a list": ("""
def run(list values):
    cdef int i, j
    values = values[:]
    for i in range(len(values)):
        for j in range(len(values) - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return values
""", (NUMBERS[:120],)),
    "matrices as lists": ("""
def run(list a, list b):
    cdef int i, j, k, n = len(a)
    result = []
    for i in range(n):
        row = []
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i][k] * b[k][j]
            row.append(s)
        result.append(row)
    return result
""", ([[i + j / 3 for j in range(20)] for i in range(20)], [[i - j / 7 for j in range(20)] for i in range(20)])),
    "memory in a dictionary": ("""
def ways(n, dict memory):
    if n in memory:
        return memory[n]
    memory[n] = ways(n - 1, memory) + ways(n - 2, memory) if n > 1 else 1
    return memory[n]

def run(n):
    return sum(ways(k, {}) for k in range(n))
""", (40,)),
    "paths in a graph": ("""
from collections import deque

def run(dict graph, start):
    distances = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for other in graph[node]:
            if other not in distances:
                distances[other] = distances[node] + 1
                waiting.append(other)
    return distances
""", (GRAPH, 1)),
    "integers of Python's": ("""
def run(n):
    longest = 0
    for k in range(1, n):
        steps, m = 0, k
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            steps += 1
        longest = max(longest, steps)
    return longest
""", (300,)),
    "wide integers": ("""
def run(n):
    product, total = 1, 0
    for k in range(1, n):
        product *= k
        total += product % 1000003
    return total
""", (400,)),
    "a class of C": ("""
cdef class Account:
    cdef double balance
    cdef list entries

    def __init__(self, double balance):
        self.balance = balance
        self.entries = []

    cpdef double add(self, double amount):
        self.balance += amount
        self.entries.append(amount)
        return self.balance

    @property
    def mean(self):
        return sum(self.entries) / len(self.entries)

def run(int n):
    account = Account(10)
    for k in range(n):
        account.add(k * 0.5)
    return account.mean
""", (2000,)),
    "a list of nodes": ("""
cdef class Node:
    cdef Node next
    cdef object value

    def __cinit__(self, value, Node next=None):
        self.value = value
        self.next = next

def run(int n):
    cdef Node head = None
    for k in range(n):
        head = Node(k, head)
    total = 0
    while head is not None:
        total += head.value
        head = head.next
    return total
""", (2000,)),
    "a class of Python": ("""
class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def length(self):
        return (self.x * self.x + self.y * self.y) ** 0.5

def run(int n):
    total = Vector(0.0, 0.0)
    for k in range(n):
        total = total + Vector(k, -k)
    return total.length()
""", (600,)),
    "a generator": ("""
def pairs(list values):
    for k, value in enumerate(values):
        if value % 3:
            yield k, value * 2

def run(list values):
    return {k: v for k, v in pairs(values) if v > 10}
""", (NUMBERS,)),
    "a life of cells": ("""
def run(unsigned char[:, :] grid, unsigned char[:, :] after):
    cdef Py_ssize_t i, j, n = grid.shape[0], m = grid.shape[1]
    cdef int k, l, around
    for i in range(n):
        for j in range(m):
            around = 0
            for k in range(-1, 2):
                for l in range(-1, 2):
                    if k or l:
                        around += grid[(i + k + n) % n, (j + l + m) % m]
            after[i, j] = around == 3 or (grid[i, j] and around == 2)
    return int(after[1, 1])
""", (np.arange(3600, dtype=np.uint8).reshape(60, 60) % 3 % 2, np.zeros((60, 60), np.uint8))),
    "a mean that runs": ("""
def run(double[:] values, double[:] means, int width):
    cdef Py_ssize_t k
    cdef double s = 0
    for k in range(values.shape[0]):
        s += values[k]
        if k >= width:
            s -= values[k - width]
        means[k] = s / min(k + 1, width)
    return means[means.shape[0] - 1]
""", (np.linspace(0, 9, 20_000), np.zeros(20_000), 16)),
    "a count of integers": ("""
import numpy as np

def run(long[::1] values, int bins):
    cdef long[::1] counts = np.zeros(bins, dtype=np.int_)
    cdef Py_ssize_t k
    for k in range(values.shape[0]):
        counts[values[k] % bins] += 1
    return list(counts)
""", (np.arange(20_000) ** 2, 37)),
    "recursion of a cpdef": ("""
cpdef long fib(int n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def run(int n):
    return [fib(k) for k in range(n)]
""", (20,)),
}  # fmt: skip


def compile_both(shell: InteractiveShell, cell: str) -> dict[str, Callable[..., Any]]:
    functions = {}
    for magic, line in (("cython", ""), ("cython_ufunc", "-q")):
        shell.run_cell_magic(magic, line, cell)
        functions[magic] = shell.user_ns["run"]
    return functions


def sample(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Seconds of the processor for a call."""
    start = time.thread_time()
    for _ in range(calls):
        function(*arguments)
    return (time.thread_time() - start) / calls


def measure(functions: dict[str, Callable[..., Any]], arguments: tuple[Any, ...]) -> dict[str, float]:
    ours, theirs = functions["cython_ufunc"], functions["cython"]
    if ours(*arguments) != theirs(*arguments):
        raise SystemExit(f"results differ: {ours(*arguments)!r} and {theirs(*arguments)!r}")
    calls = max(1, int(LEAST / sample(theirs, arguments, 3)))
    times: dict[str, list[float]] = {way: [] for way in functions}
    for n in range(ROUNDS):
        for way in sorted(functions, reverse=bool(n % 2)):
            times[way].append(sample(functions[way], arguments, calls))
    least = {way: min(values) for way, values in times.items()}
    return {
        "cython_us": round(least["cython"] * 1e6, 2),
        "cython_ufunc_us": round(least["cython_ufunc"] * 1e6, 2),
        "ratio": round(statistics.median(map(operator.truediv, times["cython_ufunc"], times["cython"])), 3),
    }


def main() -> None:
    shell = InteractiveShell.instance()
    for extension in ("cython", "ufunc_magic"):
        shell.run_line_magic("load_ext", extension)
    rows = {}
    for name in sys.argv[1:] or PROGRAMS:
        cell, arguments = PROGRAMS[name]
        rows[name] = measure(compile_both(shell, cell), arguments)
        print(f"{name:28} {rows[name]}", flush=True)
    if len(sys.argv) == 1:
        ratios = sorted(row["ratio"] for row in rows.values())
        summary = {"median": ratios[len(ratios) // 2], "greatest": ratios[-1]}
        result = {"machine": machine.describe("cython"), **summary, "programs": rows}
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
        print(summary)


if __name__ == "__main__":
    main()
