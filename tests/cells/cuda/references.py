"""What the functions of the CUDA cells in this folder ought to give, by NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Reference", "references"]

_Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Reference:
    """A function of a cell, operands to try it on, its results in double precision, and how close it ought to be."""

    cell: str
    name: str
    operands: _Arrays
    results: _Arrays
    rtol: float = 0.0
    atol: float = 0.0


def _made(
    cell: str,
    name: str,
    function: Callable[..., Any],
    types: str,
    ranges: Sequence[tuple[float, float]],
    **close: float,
) -> Reference:
    """Operands at random in ``ranges``, of the NumPy letters ``types``; ``function`` sees them in double precision."""
    rng = np.random.default_rng(len(name))
    operands = []
    for letter, (low, high) in zip(types, ranges, strict=True):
        if letter in "dfe":
            operands.append(rng.uniform(low, high, 500).astype(letter))
        else:
            operands.append(rng.integers(int(low), int(high), 500, dtype=letter))
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in operands]
    with np.errstate(over="ignore"):
        results = function(*wide)
    return Reference(cell, name, tuple(operands), results if isinstance(results, tuple) else (results,), **close)


def _mandelbrot(re: NDArray[Any], im: NDArray[Any], most: NDArray[Any]) -> NDArray[Any]:
    c, z = re + 1j * im, np.zeros(len(re), complex)
    count = np.zeros(len(re), int)
    for _ in range(int(most.max())):
        inside = (z.real**2 + z.imag**2 <= 4) & (count < most)
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def _philox(counter: NDArray[Any], seed: NDArray[Any]) -> NDArray[Any]:
    low = np.uint64(0xFFFFFFFF)
    words = [counter & low, counter >> np.uint64(32), counter * np.uint64(0), counter * np.uint64(0)]
    keys = [seed & low, seed >> np.uint64(32)]
    for _ in range(10):
        one, two = np.uint64(0xD2511F53) * words[0], np.uint64(0xCD9E8D57) * words[2]
        words = [
            (two >> np.uint64(32)) ^ words[1] ^ keys[0],
            two & low,
            (one >> np.uint64(32)) ^ words[3] ^ keys[1],
            one & low,
        ]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    return words[0]


def _pcg(x: NDArray[Any]) -> NDArray[Any]:
    state = x * np.uint32(747796405) + np.uint32(2891336453)
    word = ((state >> ((state >> np.uint32(28)) + np.uint32(4))) ^ state) * np.uint32(277803737)
    return (word >> np.uint32(22)) ^ word


def _squares(counter: NDArray[Any], key: NDArray[Any]) -> NDArray[Any]:
    mask = 2**64 - 1
    out = []
    for n, k in zip(counter.tolist(), key.tolist(), strict=True):
        x = y = n * k & mask
        z = y + k & mask
        for step in (y, z, y):
            x = x * x + step & mask
            x = (x >> 32 | x << 32) & mask
        out.append((x * x + z & mask) >> 32)
    return np.array(out, np.uint32)


def _haversine(lat1: Any, lon1: Any, lat2: Any, lon2: Any) -> Any:
    a, b, c, d = map(np.radians, (lat1, lon1, lat2, lon2))
    h = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return 2 * 6371.0088 * np.arcsin(np.sqrt(h))


def _kepler(mean: NDArray[Any], e: NDArray[Any]) -> NDArray[Any]:
    low, high = np.zeros_like(mean), np.full_like(mean, 2 * np.pi)
    for _ in range(80):
        middle = (low + high) / 2
        above = middle - e * np.sin(middle) > mean
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return middle


def _rotate(w: Any, x: Any, y: Any, z: Any, *v: Any) -> _Arrays:
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_quat(np.stack([x, y, z, w], axis=-1)).apply(np.stack(v, axis=-1))
    return tuple(turned.T)


def _hsv(r: Any, g: Any, b: Any) -> _Arrays:
    import colorsys

    return tuple(np.array([colorsys.rgb_to_hsv(*row) for row in zip(r, g, b, strict=True)]).T)


def _box_muller(a: Any, b: Any) -> _Arrays:
    radius = np.sqrt(-2 * np.log((a.astype(np.float32) + np.float32(1)).astype(np.float64) * 2.0**-32))
    angle = 2 * np.pi * b.astype(np.float32).astype(np.float64) * 2.0**-32
    return radius * np.cos(angle), radius * np.sin(angle)


def _morton(x: Any, y: Any) -> Any:
    bits = [
        (x >> np.uint32(k) & 1) << np.uint32(2 * k) | (y >> np.uint32(k) & 1) << np.uint32(2 * k + 1) for k in range(16)
    ]
    return np.bitwise_or.reduce(bits)


def _black_scholes(s: Any, k: Any, t: Any, r: Any, v: Any) -> _Arrays:
    from scipy.stats import norm

    d1 = (np.log(s / k) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    call = s * norm.cdf(d1) - k * np.exp(-r * t) * norm.cdf(d2)
    return call, call - s + k * np.exp(-r * t)


def _references() -> list[Reference]:
    from scipy import special

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    tanh = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))  # noqa: E731
    whole = (0, 2**32)
    single = {"rtol": 3e-6, "atol": 3e-7}
    double = {"rtol": 5e-15, "atol": 1e-15}
    return [
        _made("gelu", "gelu", lambda x: x * special.ndtr(x), "d", [(-8, 8)], rtol=1e-14),
        _made("gelu", "gelu", lambda x: x * special.ndtr(x), "f", [(-8, 8)], rtol=1e-6),
        _made("gelu", "gelu_tanh", tanh, "f", [(-8, 8)], **single),
        _made("silu", "silu", lambda x: x * sigmoid(x), "d", [(-30, 30)], **double),
        _made("silu", "silu", lambda x: x * sigmoid(x), "f", [(-30, 30)], **single),
        _made("silu", "silu_fast", lambda x: x * sigmoid(x), "f", [(-30, 30)], **single),
        _made("softplus", "softplus", lambda x: np.logaddexp(0, x), "d", [(-40, 40)], **double),
        _made("softplus", "softplus", lambda x: np.logaddexp(0, x), "f", [(-40, 40)], **single),
        _made("softplus", "mish", lambda x: x * np.tanh(np.logaddexp(0, x)), "d", [(-20, 20)], **double),
        _made(
            "black_scholes",
            "black_scholes",
            _black_scholes,
            "ddddd",
            [(50, 150), (50, 150), (0.1, 2), (0, 0.1), (0.1, 0.6)],
            rtol=1e-12,
            atol=1e-11,
        ),
        _made("mandelbrot", "mandelbrot", _mandelbrot, "ddi", [(-2, 0.6), (-1.2, 1.2), (50, 51)]),
        _made("philox", "philox", _philox, "QQ", [(0, 2**63), (0, 2**63)]),
        _made(
            "philox", "philox_uniform", lambda c, s: (_philox(c, s) >> np.uint64(8)) * 2.0**-24, "QQ", [(0, 99), whole]
        ),
        _made("pcg_hash", "pcg_hash", _pcg, "I", [whole]),
        _made("squares", "squares32", _squares, "QQ", [(0, 2**63), (2**62, 2**63)]),
        _made("haversine", "haversine", _haversine, "dddd", [(-90, 90), (-180, 180)] * 2, rtol=1e-12),
        _made(
            "lanczos",
            "lanczos3",
            lambda x: np.where(abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0),
            "f",
            [(-4, 4)],
            **single,
        ),
        _made(
            "bilinear",
            "bilinear",
            lambda a, b, c, d, u, v: (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v,
            "ffffff",
            [(-1, 1)] * 4 + [(0, 1)] * 2,
            **single,
        ),
        _made(
            "float4_dot", "dot4", lambda *x: sum(x[k] * x[k + 4] for k in range(4)), "f" * 8, [(-1, 1)] * 8, **single
        ),
        _made("half_axpy", "half_axpy", lambda a, x, y: (a * x + y).astype(np.float16), "eee", [(-9, 9)] * 3),
        _made("half_axpy", "half_pair", lambda x, y: (x + y) / 2, "ff", [(-9, 9)] * 2, atol=8e-3),
        _made("bessel", "j0_of", special.j0, "d", [(-20, 20)], rtol=1e-12, atol=1e-15),
        _made("bessel", "i0_scaled", special.i0e, "d", [(-50, 50)], rtol=5e-15),
        _made(
            "bessel",
            "kaiser",
            lambda x, beta: special.i0(beta * np.sqrt(1 - x * x)) / special.i0(beta),
            "dd",
            [(-1, 1), (1, 14)],
            rtol=3e-14,
        ),
        _made("voigt", "faddeeva_imaginary", lambda y: special.wofz(1j * y).real, "d", [(-3, 30)], rtol=2e-14),
        _made(
            "voigt",
            "mills_ratio",
            lambda x: np.sqrt(np.pi / 2) * special.erfcx(x / np.sqrt(2)),
            "d",
            [(-3, 30)],
            rtol=2e-14,
        ),
        _made("kepler", "kepler", _kepler, "dd", [(0, 2 * np.pi), (0, 0.9)], rtol=1e-13, atol=1e-13),
        _made("quaternion", "rotate", _rotate, "f" * 7, [(-1, 1)] * 7, rtol=2e-5, atol=2e-6),
        _made("rgb_to_hsv", "rgb_to_hsv", _hsv, "fff", [(0, 1)] * 3, rtol=1e-5, atol=2e-6),
        _made("box_muller", "box_muller", _box_muller, "II", [whole] * 2, rtol=1e-5, atol=1e-5),
        _made("morton", "morton", _morton, "II", [(0, 2**16)] * 2),
        _made("morton", "leading_zeros", lambda x: 31 - np.floor(np.log2(x)), "i", [(1, 2**31 - 1)]),
    ]


def references() -> tuple[Reference, ...]:
    """Every reference of every cell."""
    return tuple(_references())
