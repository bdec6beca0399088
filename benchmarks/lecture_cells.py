"""A hundred cells in the manner of lectures and notebooks, for ``cython_cells.py lectures``.

Each is the options of its line (``-`` where there are none), statements and expressions that run one after the other
after it, and its text.  As a script this is the process that runs them: ``lecture_cells.py cython`` answers each number
of a cell on standard input with a line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from typing import Any, NamedTuple


class LectureCell(NamedTuple):
    """A cell: the options that %%cython has too, the expressions to evaluate, and the text."""

    options: str
    calls: tuple[str, ...]
    text: str


#: Cells, divided by lines of ``=``; the first lines of each are its options and its calls.
_TEXT = r"""
-
fib(10), fib(50), fib(0)
def fib(int n):
    cdef long a = 0, b = 1
    for _ in range(n):
        a, b = b, a + b
    return a
=====
-
primes(10); primes(0); primes(200)[-3:]
def primes(int count):
    cdef int n = 2, k
    cdef list found = []
    while len(found) < count:
        for k in found:
            if n % k == 0:
                break
        else:
            found.append(n)
        n += 1
    return found
=====
-
collatz(27); collatz(1); max(collatz(k) for k in range(1, 300))
cpdef int collatz(long n):
    cdef int steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
=====
-
gcd(48, 18); gcd(17, 5); gcd(0, 9); lcm(21, 6)
cpdef long gcd(long a, long b):
    while b:
        a, b = b, a % b
    return a

def lcm(long a, long b):
    return a // gcd(a, b) * b
=====
-
integrate(0, 2, 1000); integrate(-1, 1, 10)
cdef double f(double x) except? -2:
    return x ** 2 - x

def integrate(double a, double b, int n):
    cdef int i
    cdef double s = 0, dx = (b - a) / n
    for i in range(n):
        s += f(a + i * dx)
    return s * dx
=====
-
escape(0.3, 0.5, 100); escape(0, 0, 50); escape(2, 2, 9)
cpdef int escape(double cr, double ci, int limit):
    cdef double zr = 0, zi = 0
    cdef int n
    for n in range(limit):
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        if zr * zr + zi * zi > 4:
            return n
    return limit
=====
-
julia(20).sum(); julia(5).tolist()
import numpy as np
cimport cython

@cython.boundscheck(False)
@cython.wraparound(False)
def julia(int size):
    cdef int[:, ::1] out = np.zeros((size, size), dtype=np.intc)
    cdef int i, j, n
    cdef double complex z
    for i in range(size):
        for j in range(size):
            z = -1.5 + 3.0 * i / size + (-1.5 + 3.0 * j / size) * 1j
            n = 0
            while z.real * z.real + z.imag * z.imag < 4 and n < 50:
                z = z * z + (-0.4 + 0.6j)
                n += 1
            out[i, j] = n
    return np.asarray(out)
=====
-
levenshtein("kitten", "sitting"); levenshtein("", "abc"); levenshtein("same", "same")
def levenshtein(str a, str b):
    cdef int i, j, cost
    cdef list before = list(range(len(b) + 1)), now
    for i in range(len(a)):
        now = [i + 1]
        for j in range(len(b)):
            cost = a[i] != b[j]
            now.append(min(now[j] + 1, before[j + 1] + 1, before[j] + cost))
        before = now
    return before[len(b)]
=====
-
sieve(30); len(sieve(10000))
from libc.stdlib cimport malloc, free
from libc.string cimport memset

def sieve(int n):
    cdef char *composite = <char *> malloc(n + 1)
    if composite == NULL:
        raise MemoryError()
    memset(composite, 0, n + 1)
    cdef int i, j
    try:
        for i in range(2, n + 1):
            if not composite[i]:
                for j in range(i * i, n + 1, i):
                    composite[j] = 1
        return [i for i in range(2, n + 1) if not composite[i]]
    finally:
        free(composite)
=====
-
np.asarray(matmul(np.eye(3), np.arange(9.0).reshape(3, 3))).tolist()
import numpy as np

def matmul(double[:, :] a, double[:, :] b):
    cdef double[:, :] c = np.zeros((a.shape[0], b.shape[1]))
    cdef Py_ssize_t i, j, k
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return np.asarray(c)
=====
-
total(np.arange(5, dtype=np.int32)), total(np.arange(5.0)), total(np.arange(4, dtype=np.int64))
ctypedef fused number:
    int
    long
    double

def total(number[:] values):
    cdef number s = 0
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        s += values[i]
    return s
=====
-
p = Point(3, 4); p.norm(); p.x; (p + Point(1, 1)).x; repr(p); p == Point(3, 4)
from libc.math cimport sqrt

cdef class Point:
    cdef readonly double x, y

    def __init__(self, double x, double y):
        self.x = x
        self.y = y

    cpdef double norm(self):
        return sqrt(self.x * self.x + self.y * self.y)

    def __add__(self, Point other):
        return Point(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == (<Point> other).x and self.y == (<Point> other).y

    def __repr__(self):
        return f"Point({self.x:g}, {self.y:g})"
=====
-+
primes_vector(12); list(primes_vector(0))
# distutils: language = c++
from libcpp.vector cimport vector

def primes_vector(unsigned int count):
    cdef vector[int] found
    cdef int n = 2, p
    found.reserve(count)
    while found.size() < count:
        for p in found:
            if n % p == 0:
                break
        else:
            found.push_back(n)
        n += 1
    return found
=====
-+
count_words("a b a c b a")
# distutils: language = c++
from libcpp.string cimport string
from libcpp.map cimport map

def count_words(str text):
    cdef map[string, int] counts
    cdef bytes word
    for word in text.encode().split():
        counts[word] += 1
    return {k.decode(): v for k, v in dict(counts).items()}
=====
-+
unique([3, 1, 2, 3, 1]); unique([])
# distutils: language = c++
from libcpp.set cimport set as cset

def unique(values):
    cdef cset[int] seen
    for value in values:
        seen.insert(value)
    return sorted(seen)
=====
-
divide(7, 2); divide(-7, 2); attempt("divide(1, 0)")
cpdef int divide(int a, int b) except? -1:
    return a // b
=====
-
checked(2.0); attempt("checked(-1.0)")
cdef double root(double x) except -1:
    if x < 0:
        raise ValueError("negative")
    return x ** 0.5

def checked(double x):
    return root(x) + 1
=====
-
list(countdown(4)); next(countdown(9))
def countdown(int n):
    while n > 0:
        yield n
        n -= 1
=====
-
[int(x) for x in squares(5)]
def squares(int n):
    cdef int i
    return (i * i for i in range(n))
=====
-
estimate(42, 2000), estimate(42, 2000)
from libc.stdlib cimport rand, srand, RAND_MAX

def estimate(int seed, int n):
    cdef int i, inside = 0
    cdef double x, y
    srand(seed)
    for i in range(n):
        x = rand() / <double> RAND_MAX
        y = rand() / <double> RAND_MAX
        inside += x * x + y * y <= 1
    return 4.0 * inside / n
=====
-
life(np.array([[0, 1, 0], [0, 1, 0], [0, 1, 0]], dtype=np.uint8)).tolist()
import numpy as np
cimport numpy as cnp
cnp.import_array()

def life(cnp.ndarray[cnp.uint8_t, ndim=2] board):
    cdef int rows = board.shape[0], columns = board.shape[1], i, j, di, dj, alive
    cdef cnp.ndarray[cnp.uint8_t, ndim=2] after = np.zeros_like(board)
    for i in range(rows):
        for j in range(columns):
            alive = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if (di or dj) and 0 <= i + di < rows and 0 <= j + dj < columns:
                        alive += board[i + di, j + dj]
            after[i, j] = alive == 3 or (alive == 2 and board[i, j])
    return after
=====
-
knapsack([1, 3, 4, 5], [1, 4, 5, 7], 7)
def knapsack(list weights, list values, int capacity):
    cdef list best = [0] * (capacity + 1)
    cdef int i, c, w, v
    for i in range(len(weights)):
        w, v = weights[i], values[i]
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[capacity]
=====
-
energy(np.ones((4, 4), dtype=np.int8)); np.asarray(flip(np.ones((4, 4), dtype=np.int8), 1, 2)).sum()
import numpy as np

cpdef double energy(signed char[:, :] spins):
    cdef Py_ssize_t i, j, n = spins.shape[0], m = spins.shape[1]
    cdef double e = 0
    for i in range(n):
        for j in range(m):
            e -= spins[i, j] * (spins[(i + 1) % n, j] + spins[i, (j + 1) % m])
    return e

def flip(signed char[:, :] spins, int i, int j):
    spins[i, j] = -spins[i, j]
    return spins
=====
-
step(np.array([[0.0, 0], [1, 0], [0, 1]]), np.zeros((3, 2)), 0.01).round(12).tolist()
import numpy as np
from libc.math cimport sqrt

def step(double[:, ::1] x, double[:, ::1] v, double dt):
    cdef int n = x.shape[0], i, j
    cdef double dx, dy, r, f
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = x[j, 0] - x[i, 0]
                dy = x[j, 1] - x[i, 1]
                r = sqrt(dx * dx + dy * dy) + 1e-3
                f = dt / (r * r * r)
                v[i, 0] += f * dx
                v[i, 1] += f * dy
    for i in range(n):
        x[i, 0] += dt * v[i, 0]
        x[i, 1] += dt * v[i, 1]
    return np.asarray(x)
=====
-
np.asarray(assign(np.array([[0.0], [1], [9], [10]]), np.array([[0.0], [10]]))).tolist()
import numpy as np

def assign(double[:, :] points, double[:, :] centres):
    cdef int[:] labels = np.empty(points.shape[0], dtype=np.intc)
    cdef Py_ssize_t i, k, d
    cdef double best, distance, diff
    for i in range(points.shape[0]):
        best = 1e300
        for k in range(centres.shape[0]):
            distance = 0
            for d in range(points.shape[1]):
                diff = points[i, d] - centres[k, d]
                distance += diff * diff
            if distance < best:
                best = distance
                labels[i] = k
    return labels
=====
-
np.asarray(heat(np.array([0.0, 0, 1, 0, 0]), 3)).round(10).tolist()
import numpy as np

def heat(double[:] u, int steps, double r=0.25):
    cdef double[:] new = np.array(u)
    cdef Py_ssize_t i
    cdef int n
    for n in range(steps):
        for i in range(1, u.shape[0] - 1):
            new[i] = u[i] + r * (u[i - 1] - 2 * u[i] + u[i + 1])
        u[:] = new
    return u
=====
-
bubble([3, 1, 2]); bubble([]); bubble(list(range(20, 0, -1)))[:3]
def bubble(list values):
    cdef Py_ssize_t i, j
    values = values[:]
    for i in range(len(values)):
        for j in range(len(values) - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return values
=====
-
a = np.array([5.0, 1, 4, 2]); quicksort(a); a.tolist()
cdef void _sort(double[:] a, Py_ssize_t low, Py_ssize_t high) noexcept:
    cdef Py_ssize_t i = low, j = high
    cdef double pivot = a[(low + high) // 2]
    while i <= j:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i += 1
            j -= 1
    if low < j:
        _sort(a, low, j)
    if i < high:
        _sort(a, i, high)

def quicksort(double[:] a):
    _sort(a, 0, a.shape[0] - 1)
=====
-
fnv(b"hello"), fnv(b"")
def fnv(bytes data):
    cdef unsigned int h = 2166136261u
    cdef unsigned char c
    for c in data:
        h = (h ^ c) * 16777619u
    return h
=====
-
parse_int("1234"), parse_int("-56"), attempt("parse_int('x1')")
def parse_int(str text):
    cdef long value = 0
    cdef bint negative = text.startswith("-")
    cdef Py_UCS4 c
    for c in text[1:] if negative else text:
        if not u"0" <= c <= u"9":
            raise ValueError(f"no digit: {c!r}")
        value = 10 * value + (<int> c - 48)
    return -value if negative else value
=====
-
popcount(255), popcount(0), popcount(2**40 + 1)
cpdef int popcount(unsigned long long x):
    cdef int n = 0
    while x:
        x &= x - 1
        n += 1
    return n
=====
-
reverse_bits(1), reverse_bits(0x80000000)
cpdef unsigned int reverse_bits(unsigned int x):
    cdef unsigned int y = 0
    cdef int i
    for i in range(32):
        y = (y << 1) | (x & 1)
        x >>= 1
    return y
=====
-
weekday(2026, 11, 27), weekday(2000, 2, 29)
cdef enum Day:
    MON, TUE, WED, THU, FRI, SAT, SUN

cdef struct Date:
    int year, month, day

cdef int _weekday(Date d) noexcept:
    cdef int m = d.month, y = d.year
    if m < 3:
        m += 12
        y -= 1
    return (d.day + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400 + 5) % 7

def weekday(int year, int month, int day):
    cdef Date d = Date(year, month, day)
    cdef int w = _weekday(d)
    return w, w == FRI
=====
-
s = Stack(); s.push(1); s.push("b"); s.pop(), len(s), s.pop(); attempt("s.pop()")
cdef class Stack:
    cdef list items

    def __cinit__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)
=====
-
q = Ring(3); [q.add(k) for k in range(5)]; list(q), q.mean()
cdef class Ring:
    cdef double[16] data
    cdef int size, count, start

    def __init__(self, int size):
        if not 0 < size <= 16:
            raise ValueError("size")
        self.size = size

    cpdef int add(self, double x):
        self.data[(self.start + self.count) % self.size] = x
        if self.count < self.size:
            self.count += 1
        else:
            self.start = (self.start + 1) % self.size
        return self.count

    def mean(self):
        cdef double s = 0
        cdef int k
        for k in range(self.count):
            s += self.data[k]
        return s / self.count

    def __iter__(self):
        cdef int k
        for k in range(self.count):
            yield self.data[(self.start + k) % self.size]
=====
-
Dog("Rex").speak(), Cat("Tom").speak(), isinstance(Dog("a"), Animal)
cdef class Animal:
    cdef public str name

    def __init__(self, str name):
        self.name = name

    cdef str sound(self):
        return "..."

    def speak(self):
        return f"{self.name} says {self.sound()}"

cdef class Dog(Animal):
    cdef str sound(self):
        return "woof"

cdef class Cat(Animal):
    cdef str sound(self):
        return "meow"
=====
-
c = Celsius(); c.fahrenheit = 212; c.degrees, c.fahrenheit
cdef class Celsius:
    cdef public double degrees

    @property
    def fahrenheit(self):
        return self.degrees * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, double value):
        self.degrees = (value - 32) * 5 / 9
=====
-
bump(), bump(), bump(5), counter
counter = 0

def bump(int by=1):
    global counter
    counter += by
    return counter
=====
-
note("a"), note("b"), log
log = []

def note(str word):
    log.append(word)
    return len(log)
=====
-
cached(10), cached(30), len(memo)
memo = {}

def cached(int n):
    if n in memo:
        return memo[n]
    value = n if n < 2 else cached(n - 1) + cached(n - 2)
    memo[n] = value
    return value
=====
-
accumulate(2.0), accumulate(3.5), state()
cdef double _sum = 0

cpdef double accumulate(double x):
    global _sum
    _sum += x
    return _sum

def state():
    return _sum
=====
-
mix(1.0, 0.0, 0.25), mix(2, 4, 0.5), mix(np.arange(3.0), 0.0, 0.5).tolist() if ARRAYS else [0.0, 0.5, 1.0]
cpdef double mix(double a, double b, double t):
    return a * (1 - t) + b * t
=====
-
sigmoid(0.0), sigmoid(-800.0), sigmoid(3.0)
from libc.math cimport exp

cpdef double sigmoid(double x):
    if x >= 0:
        return 1 / (1 + exp(-x))
    cdef double e = exp(x)
    return e / (1 + e)
=====
-
gamma_like(5.5), error(1.5), hypotenuse(3, 4)
from libc.math cimport tgamma, erf, hypot

def gamma_like(double x):
    return tgamma(x)

def error(double x):
    return erf(x)

cpdef double hypotenuse(double a, double b):
    return hypot(a, b)
=====
-
newton(2.0), newton(0.0), attempt("newton(-1.0)")
def newton(double a, double tolerance=1e-12, *, int most=100):
    if a < 0:
        raise ValueError("no real root")
    cdef double x = a or 1.0
    cdef int n
    for n in range(most):
        if abs(x * x - a) <= tolerance:
            break
        x = 0.5 * (x + a / x)
    return round(x, 9)
=====
-
bisect_root(lambda x: x * x - 2, 0, 2)
def bisect_root(f, double a, double b):
    cdef double m = a
    cdef int _
    for _ in range(60):
        m = (a + b) / 2
        if f(a) * f(m) <= 0:
            b = m
        else:
            a = m
    return round(m, 10)
=====
-
horner([1, 2, 3], 2.0), horner([], 1.0)
def horner(coefficients, double x):
    cdef double y = 0
    for c in reversed(coefficients):
        y = y * x + <double> c
    return y
=====
-
runge_kutta(1.0, 0.0, 1.0, 100)
cdef double derivative(double t, double y) noexcept nogil:
    return -2 * t * y

def runge_kutta(double y, double t, double end, int n):
    cdef double h = (end - t) / n, a, b, c, d
    cdef int i
    with nogil:
        for i in range(n):
            a = derivative(t, y)
            b = derivative(t + h / 2, y + h / 2 * a)
            c = derivative(t + h / 2, y + h / 2 * b)
            d = derivative(t + h, y + h * c)
            y += h / 6 * (a + 2 * b + 2 * c + d)
            t += h
    return round(y, 10)
=====
-
convolve(np.array([1.0, 2, 3]), np.array([0.0, 1, 0.5])).tolist()
import numpy as np

def convolve(double[:] a, double[:] b):
    out = np.zeros(a.shape[0] + b.shape[0] - 1)
    cdef double[:] view = out
    cdef Py_ssize_t i, j
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            view[i + j] += a[i] * b[j]
    return out
=====
-
blur(np.arange(25.0).reshape(5, 5))[2].tolist()
import numpy as np
cimport cython

@cython.boundscheck(False)
@cython.cdivision(True)
def blur(double[:, ::1] image):
    result = np.array(image)
    cdef double[:, ::1] out = result
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(1, image.shape[0] - 1):
            for j in range(1, image.shape[1] - 1):
                out[i, j] = (image[i - 1, j] + image[i + 1, j] + image[i, j - 1] + image[i, j + 1]) / 4
    return result
=====
-
histogram(np.array([0.1, 0.5, 0.9, 0.95]), 2).tolist()
import numpy as np

def histogram(double[:] values, int bins):
    counts = np.zeros(bins, dtype=np.int64)
    cdef long[:] view = counts
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        view[min(<int> (values[i] * bins), bins - 1)] += 1
    return counts
=====
-
moving(np.arange(6.0), 3).tolist()
import numpy as np
cimport numpy as np

def moving(np.ndarray[np.float64_t] x, int width):
    cdef np.ndarray[np.float64_t] out = np.empty(len(x) - width + 1)
    cdef double s = 0
    cdef int i
    for i in range(len(x)):
        s += x[i]
        if i >= width:
            s -= x[i - width]
        if i >= width - 1:
            out[i - width + 1] = s / width
    return out
=====
-
pairwise(np.array([[0.0, 0], [3, 4]])).tolist()
import numpy as np
from libc.math cimport sqrt

def pairwise(double[:, ::1] x):
    cdef int n = x.shape[0], m = x.shape[1], i, j, k
    cdef double d, t
    cdef double[:, ::1] out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            d = 0
            for k in range(m):
                t = x[i, k] - x[j, k]
                d += t * t
            out[i, j] = sqrt(d)
    return np.asarray(out)
=====
-
cumulative(np.array([1, 2, 3], dtype=np.int64)).tolist(), running(np.array([1.0, 3, 2])).tolist()
import numpy as np

def cumulative(long[:] a):
    cdef Py_ssize_t i
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
    return np.asarray(a)

def running(double[:] a):
    cdef double best = a[0]
    out = np.empty_like(a)
    cdef double[:] view = out
    for i in range(a.shape[0]):
        best = max(best, a[i])
        view[i] = best
    return out
=====
-
transpose([[1, 2], [3, 4]]), flatten([[1], [2, [3]]])
def transpose(list rows):
    return [list(column) for column in zip(*rows)]

def flatten(items):
    cdef list out = []
    for item in items:
        if isinstance(item, list):
            out.extend(flatten(item))
        else:
            out.append(item)
    return out
=====
-
caesar("Hello, World", 3), caesar(caesar("abc", 5), -5)
def caesar(str text, int shift):
    cdef list out = []
    cdef Py_UCS4 c
    for c in text:
        if u"a" <= c <= u"z":
            c = <Py_UCS4> ((<int> c - 97 + shift) % 26 + 97)
        elif u"A" <= c <= u"Z":
            c = <Py_UCS4> ((<int> c - 65 + shift) % 26 + 65)
        out.append(c)
    return "".join(out)
=====
-
palindrome("level"), palindrome("ab"), vowels("education")
def palindrome(str s):
    cdef Py_ssize_t i, n = len(s)
    for i in range(n // 2):
        if s[i] != s[n - 1 - i]:
            return False
    return True

def vowels(str s):
    return sum(1 for c in s if c in "aeiou")
=====
-
frequencies("banana")
def frequencies(str text):
    cdef dict counts = {}
    for c in text:
        counts[c] = counts.get(c, 0) + 1
    return sorted(counts.items())
=====
-
rle("aaabbc"), rle("")
def rle(str text):
    cdef list out = []
    cdef int n = 0
    last = ""
    for c in text + "\0":
        if c == last:
            n += 1
        else:
            if last:
                out.append((last, n))
            last, n = c, 1
    return out
=====
-
crc(b"123456789")
cdef unsigned int[256] table
cdef unsigned int i, k, value
for i in range(256):
    value = i
    for k in range(8):
        value = (value >> 1) ^ (0xEDB88320u if value & 1 else 0)
    table[i] = value

def crc(const unsigned char[:] data):
    cdef unsigned int c = 0xFFFFFFFFu
    cdef Py_ssize_t n
    for n in range(data.shape[0]):
        c = table[(c ^ data[n]) & 0xFF] ^ (c >> 8)
    return c ^ 0xFFFFFFFFu
=====
-
xorshift(1, 3), xorshift(7, 1)
def xorshift(unsigned int seed, int n):
    cdef unsigned int x = seed
    for _ in range(n):
        x ^= x << 13
        x ^= x >> 17
        x ^= x << 5
    return x
=====
-
g = Generator(3); [g.next() for _ in range(3)], round(g.uniform(), 12)
cdef class Generator:
    cdef unsigned long long state

    def __init__(self, unsigned long long seed):
        self.state = seed

    cpdef unsigned int next(self):
        self.state = self.state * 6364136223846793005ULL + 1442695040888963407ULL
        return <unsigned int> (self.state >> 33)

    def uniform(self):
        return self.next() / 2147483648.0
=====
-
t = Tree(); [t.add(k) for k in (5, 2, 8, 1)]; list(t), 8 in t, 3 in t
cdef class Node:
    cdef Node left, right
    cdef long key

    def __init__(self, long key):
        self.key = key

cdef class Tree:
    cdef Node root

    def add(self, long key):
        cdef Node node
        if self.root is None:
            self.root = Node(key)
            return
        node = self.root
        while True:
            if key < node.key:
                if node.left is None:
                    node.left = Node(key)
                    return
                node = node.left
            else:
                if node.right is None:
                    node.right = Node(key)
                    return
                node = node.right

    def __contains__(self, long key):
        cdef Node node = self.root
        while node is not None:
            if node.key == key:
                return True
            node = node.left if key < node.key else node.right
        return False

    def _walk(self, Node node):
        if node is not None:
            yield from self._walk(node.left)
            yield node.key
            yield from self._walk(node.right)

    def __iter__(self):
        return self._walk(self.root)
=====
-
l = Linked(); [l.push(k) for k in range(3)]; l.total(), l.size
from libc.stdlib cimport malloc, free

cdef struct Cell:
    double value
    Cell *next

cdef class Linked:
    cdef Cell *head
    cdef readonly int size

    def push(self, double value):
        cdef Cell *cell = <Cell *> malloc(sizeof(Cell))
        if cell is NULL:
            raise MemoryError()
        cell.value = value
        cell.next = self.head
        self.head = cell
        self.size += 1

    def total(self):
        cdef double s = 0
        cdef Cell *cell = self.head
        while cell is not NULL:
            s += cell.value
            cell = cell.next
        return s

    def __dealloc__(self):
        cdef Cell *cell
        while self.head is not NULL:
            cell = self.head
            self.head = cell.next
            free(cell)
=====
-
Vector([1, 2]) @ Vector([3, 4]), (Vector([1, 2]) * 3).tolist(), Vector([1, 2])[1], -1 in Vector([1])
import numpy as np

cdef class Vector:
    cdef double[:] data

    def __init__(self, values):
        self.data = np.array(values, dtype=float)

    def __matmul__(self, Vector other):
        cdef double s = 0
        cdef Py_ssize_t i
        for i in range(self.data.shape[0]):
            s += self.data[i] * other.data[i]
        return s

    def __mul__(self, double k):
        return Vector(np.asarray(self.data) * k)

    def __getitem__(self, Py_ssize_t i):
        return self.data[i]

    def __len__(self):
        return self.data.shape[0]

    def tolist(self):
        return np.asarray(self.data).tolist()
=====
-
fused_max(3, 4), fused_max(2.5, 1.0)
ctypedef fused real:
    long
    double

cpdef real fused_max(real a, real b):
    return a if a > b else b
=====
-
with_defaults(1), with_defaults(1, 2), with_defaults(1, c=9), with_defaults(*(1, 2, 3))
def with_defaults(int a, int b=10, *rest, int c=100, **more):
    return a + b + c + sum(rest) + len(more)
=====
-
describe(1), describe("a"), describe([1, 2])
def describe(x):
    if isinstance(x, int):
        return "number"
    elif isinstance(x, str):
        return "text"
    try:
        return f"{len(x)} items"
    except TypeError:
        return "thing"
    finally:
        pass
=====
-
apply_twice(lambda x: x + 1, 5), compose(str, abs)(-3)
def apply_twice(f, x):
    return f(f(x))

def compose(f, g):
    def composed(x):
        return f(g(x))
    return composed
=====
-
sorted_by([(2, "b"), (1, "a")]), [round(v, 3) for v in normalize([1, 3])]
def sorted_by(pairs):
    return sorted(pairs, key=lambda pair: pair[0])

def normalize(values):
    cdef double total = sum(values)
    return [v / total for v in values]
=====
-
matrix_power(10), matrix_power(1)
def matrix_power(int n):
    cdef object a = 1, b = 1, c = 0
    cdef object ra = 1, rb = 0, rc = 1
    while n:
        if n & 1:
            ra, rb, rc = ra * a + rb * b, ra * b + rb * c, rb * b + rc * c
        a, b, c = a * a + b * b, a * b + b * c, b * b + c * c
        n >>= 1
    return ra, rb, rc
=====
-
big_factorial(25), big_power(3, 60)
def big_factorial(n):
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result

def big_power(a, b):
    return a ** b
=====
-
queens(6), queens(8)
cdef int _place(int row, int n, int columns, int left, int right) noexcept nogil:
    cdef int count = 0, free, bit
    if row == n:
        return 1
    free = ((1 << n) - 1) & ~(columns | left | right)
    while free:
        bit = free & -free
        free ^= bit
        count += _place(row + 1, n, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return count

def queens(int n):
    return _place(0, n, 0, 0, 0)
=====
-
hanoi(3), len(hanoi(7))
def hanoi(int n, str a="A", str b="B", str c="C"):
    if n == 0:
        return []
    return hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
=====
-
shortest({0: {1: 4, 2: 1}, 2: {1: 2}, 1: {}}, 0)
import heapq

def shortest(dict graph, start):
    cdef dict known = {}
    cdef list queue = [(0, start)]
    while queue:
        distance, node = heapq.heappop(queue)
        if node in known:
            continue
        known[node] = distance
        for other, weight in graph.get(node, {}).items():
            heapq.heappush(queue, (distance + weight, other))
    return sorted(known.items())
=====
-
warshall(np.array([[0, 3, 1e9], [1e9, 0, 1], [2, 1e9, 0]])).tolist()
import numpy as np

def warshall(double[:, ::1] d):
    cdef int n = d.shape[0], i, j, k
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return np.asarray(d)
=====
-
components(5, [(0, 1), (3, 4)])
cdef int _find(int[:] parent, int x) noexcept:
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x

def components(int n, edges):
    import array
    cdef int[:] parent = array.array("i", range(n))
    cdef int a, b
    for a, b in edges:
        parent[_find(parent, a)] = _find(parent, b)
    return len({_find(parent, k) for k in range(n)})
=====
-
thomas(*(np.array(v, dtype=float) for v in ([0, -1, -1], [2, 2, 2], [-1, -1, 0], [1, 0, 1]))).round(10).tolist()
import numpy as np

def thomas(double[:] a, double[:] b, double[:] c, double[:] d):
    cdef int n = d.shape[0], i
    cdef double w
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]
    return np.asarray(d)
=====
-
dft(np.array([1.0, 0, 0, 0])).tolist()
import numpy as np
from libc.math cimport cos, sin, M_PI

def dft(double[:] x):
    cdef int n = x.shape[0], k, j
    cdef double complex[:] out = np.zeros(n, dtype=complex)
    for k in range(n):
        for j in range(n):
            out[k] = out[k] + x[j] * (cos(2 * M_PI * k * j / n) - 1j * sin(2 * M_PI * k * j / n))
    return np.asarray(out)
=====
-
parallel_sum(np.arange(1000.0))
from cython.parallel import prange

def parallel_sum(double[:] x):
    cdef Py_ssize_t i
    cdef double s = 0
    for i in prange(x.shape[0], nogil=True):
        s += x[i]
    return s
=====
-c=-fopenmp --link-args=-fopenmp
np.asarray(parallel_square(np.arange(5.0))).tolist()
from cython.parallel cimport prange

def parallel_square(double[:] x):
    cdef Py_ssize_t i
    for i in prange(x.shape[0], nogil=True, num_threads=2):
        x[i] = x[i] * x[i]
    return x
=====
-
strings_of([b"a", b"bc"]), c_length("hello")
from libc.string cimport strlen

def strings_of(list items):
    cdef const char *s
    cdef list out = []
    for item in items:
        s = item
        out.append(strlen(s))
    return out

def c_length(str text):
    cdef bytes b = text.encode()
    return strlen(b)
=====
-
sort_c([3, 1, 2])
from libc.stdlib cimport qsort, malloc, free

cdef int compare(const void *a, const void *b) noexcept nogil:
    return (<int *> a)[0] - (<int *> b)[0]

def sort_c(list values):
    cdef int n = len(values), i
    cdef int *data = <int *> malloc(n * sizeof(int))
    for i in range(n):
        data[i] = values[i]
    qsort(data, n, sizeof(int), compare)
    result = [data[i] for i in range(n)]
    free(data)
    return result
=====
-
operate("add", 2, 3), operate("mul", 2, 3), attempt("operate('x', 1, 1)")
ctypedef double (*operation)(double, double) noexcept

cdef double add(double a, double b) noexcept:
    return a + b

cdef double mul(double a, double b) noexcept:
    return a * b

cdef operation choose(str name) except NULL:
    if name == "add":
        return add
    if name == "mul":
        return mul
    raise KeyError(name)

def operate(str name, double a, double b):
    return choose(name)(a, b)
=====
-
unpack(0x01020304)
cdef union Word:
    unsigned int whole
    unsigned char[4] parts

def unpack(unsigned int x):
    cdef Word w
    w.whole = x
    return [w.parts[k] for k in range(4)]
=====
-
squared(3), squared(1.5)
# cython: language_level=3
import cython

@cython.locals(x=cython.double)
def squared(x):
    return x * x
=====
-
pure(4), pure(10)
import cython

def pure(n: cython.int) -> cython.double:
    s: cython.double = 0
    i: cython.int
    for i in range(n):
        s += i * 0.5
    return s
=====
-
hot(3, 4)
import cython

@cython.cfunc
@cython.returns(cython.double)
@cython.locals(a=cython.double, b=cython.double)
def helper(a, b):
    return (a * a + b * b) ** 0.5

def hot(a, b):
    return helper(a, b)
=====
-
complex_root(-1), complex_root(4)
def complex_root(double x):
    cdef double complex z = x
    z = z ** 0.5
    return round(z.real, 9), round(z.imag, 9)
=====
-
wrap8(250, 10), narrow(70000)
def wrap8(unsigned char a, unsigned char b):
    cdef unsigned char c = a + b
    return c

def narrow(int x):
    return <short> x
=====
-
python_mod(-7, 3), c_mod(-7, 3), floor_div(-7, 2)
cimport cython

def python_mod(int a, int b):
    return a % b

@cython.cdivision(True)
def c_mod(int a, int b):
    return a % b

def floor_div(int a, int b):
    return a // b
=====
-
overflow(2147483647)
cimport cython

@cython.overflowcheck(True)
cdef int _more(int x) except? -1:
    return x + 1

def overflow(int x):
    try:
        return _more(x)
    except OverflowError:
        return "overflow"
=====
-
clip(np.array([-1.0, 0.5, 2])).tolist(), clip(np.zeros((2, 2))).shape
import numpy as np

def clip(x, double low=0, double high=1):
    cdef double[::1] flat = np.ascontiguousarray(x, dtype=float).ravel()
    cdef Py_ssize_t i
    for i in range(flat.shape[0]):
        flat[i] = min(max(flat[i], low), high)
    return np.asarray(flat).reshape(np.shape(x))
=====
-
bound_error()
import numpy as np

def bound_error():
    cdef double[:] a = np.zeros(3)
    cdef int i = 5
    try:
        return a[i]
    except IndexError as fault:
        return str(fault)
=====
-
none_error(None), none_error(np.zeros(2))
def none_error(double[:] a):
    return "none" if a is None else a.shape[0]
=====
-
sums(np.arange(6).reshape(2, 3)), sums(np.arange(6.0).reshape(3, 2))
import numpy as np

def sums(x):
    return np.sum(x, axis=0).tolist(), float(np.mean(x))
=====
-
structured(np.array([(1, 2.5), (2, 0.5)], dtype=[("n", "i4"), ("x", "f8")]))
cdef packed struct Row:
    int n
    double x

def structured(Row[:] rows):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        s += rows[i].n * rows[i].x
    return s
=====
-
black_scholes(100, 100, 1, 0.05, 0.2)
from libc.math cimport log, sqrt, exp, erf

cdef double cdf(double x) noexcept nogil:
    return 0.5 * (1 + erf(x / sqrt(2.0)))

cpdef double black_scholes(double s, double k, double t, double r, double sigma):
    cdef double d1 = (log(s / k) + (r + sigma * sigma / 2) * t) / (sigma * sqrt(t))
    cdef double d2 = d1 - sigma * sqrt(t)
    return s * cdf(d1) - k * exp(-r * t) * cdf(d2)
=====
-
haversine(0, 0, 0, 90), round(haversine(52.5, 13.4, 48.9, 2.3))
from libc.math cimport sin, cos, asin, sqrt, M_PI

cpdef double haversine(double lat1, double lon1, double lat2, double lon2):
    cdef double k = M_PI / 180
    cdef double a = sin((lat2 - lat1) * k / 2) ** 2
    a += cos(lat1 * k) * cos(lat2 * k) * sin((lon2 - lon1) * k / 2) ** 2
    return 2 * 6371 * asin(sqrt(a))
=====
-
timestep([0.0, 1.0], 3)
cdef class Simulation:
    cdef list history
    cdef double x, v

    def __init__(self, double x, double v):
        self.x, self.v, self.history = x, v, []

    cdef void advance(self, double dt):
        self.v -= self.x * dt
        self.x += self.v * dt
        self.history.append(round(self.x, 6))

    def run(self, int n, double dt=0.1):
        for _ in range(n):
            self.advance(dt)
        return self.history

def timestep(start, int n):
    return Simulation(*start).run(n)
=====
-
dot_list([1, 2, 3], [4, 5, 6]), mean_var([1.0, 2, 3, 4])
def dot_list(list a, list b):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(len(a)):
        s += a[i] * b[i]
    return s

def mean_var(values):
    cdef double m = 0, s = 0, d
    cdef int n = 0
    for x in values:
        n += 1
        d = x - m
        m += d / n
        s += d * (x - m)
    return m, s / (n - 1)
"""


def read_cells() -> tuple[LectureCell, ...]:
    """The cells."""
    cells = []
    for block in _TEXT.strip("\n").split("\n=====\n"):
        options, calls, text = block.split("\n", 2)
        cells.append(LectureCell(options if len(options) > 1 else "", tuple(calls.split("; ")), f"{text}\n"))
    return tuple(cells)


#: Way of running -> the magic and the options that it adds.
WAYS = {"cython": ("cython", "-f"), "quiet": ("cython_ufunc", "-f -q"), "table": ("cython_ufunc", "-f")}


def _evaluate(text: str, names: dict[str, Any]) -> str:
    """What a notebook would show of the text."""
    try:
        return repr(eval(compile(text, "<call>", "eval"), names))
    except SyntaxError:
        exec(text, names)
        return ""


def _attempt(text: str, names: dict[str, Any]) -> str:
    try:
        return repr(eval(text, names))
    except Exception as fault:  # noqa: BLE001
        return f"{type(fault).__name__}: {fault}"


def serve(way: str) -> None:
    """Run the cells whose numbers come on standard input."""
    import numpy as np
    import psutil
    from IPython.core.interactiveshell import InteractiveShell

    shell, process, answers = InteractiveShell(), psutil.Process(), sys.stdout
    magic, more = WAYS[way]
    shell.run_line_magic("load_ext", "cython" if way == "cython" else "ufunc_magic")
    cells, text = read_cells(), "def warm_up(double x):\n    return x\n"

    def spend() -> float:
        """CPU seconds of this process and of those that it has started."""
        times = [process.cpu_times(), *(child.cpu_times() for child in process.children(recursive=True))]
        return sum(t.user + t.system + t.children_user + t.children_system for t in times)

    shell.run_cell_magic(magic, more, text)
    for line in sys.stdin:
        cell = cells[int(line)]
        names = shell.user_ns
        names.update(np=np, ARRAYS=way != "cython", attempt=lambda text, names=names: _attempt(text, names))
        answer: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            spent, start = spend(), time.perf_counter()
            try:
                shell.run_cell_magic(magic, f"{more} -I {np.get_include()} {cell.options}", cell.text)
                answer = {"seconds": time.perf_counter() - start, "cpu": spend() - spent}
                answer["values"] = [_evaluate(call, names) for call in cell.calls]
            except BaseException as fault:  # noqa: BLE001
                answer["fault"] = f"{type(fault).__name__}: {fault}"[:2000]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
