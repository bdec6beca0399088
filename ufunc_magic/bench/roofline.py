"""How far a row is from what the machine can do, in words.  Pure.

Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
Architectures", Communications of the ACM 52 (2009).
"""

from __future__ import annotations

from ..render import percent
from .arithmetic_work import Work

__all__ = ["verdict"]

#: From these shares of a limit on it is what holds a loop back.
MEMORY_BOUND, COMPUTE_BOUND = 0.6, 0.5

#: Above this share of the limit it cannot have moved what its arguments and results hold: views, zero strides.
IMPOSSIBLE = 2.0

#: Below this share of both limits something else takes the time.
FAR = 0.15

#: Even scalar code of a C library reaches this share of the arithmetic; below it, calls do not take the time.
SCALAR = 0.005

#: Seconds below which a call is mostly its own cost, if the limits explain less than a tenth of it.
CALL = 5e-6


def verdict(
    *,
    seconds: float,
    elements: int,
    nbytes: int,
    bytes_per_second: float,
    flops_per_second: float,
    work: Work | None = None,
    remark: str = "",
) -> str:
    """One phrase for a call.

    Parameters
    ----------
    seconds : float
        Of one call over ``elements`` elements.
    nbytes : int
        Read and written by it.
    bytes_per_second, flops_per_second : float
        The machine's limits where so many bytes are touched.
    work : Work
        The function's arithmetic, where known.
    remark : str
        Why the loop is not vectorized, where it is not: ``"line 4, data-dependent loop"``.

    Returns
    -------
    str
        ``""`` where nothing can be said.
    """
    if not seconds or not elements or not nbytes:
        return ""
    memory = nbytes / bytes_per_second / seconds
    arithmetic = elements * work.flops / flops_per_second / seconds if work and not work.loops else 0.0
    if memory > IMPOSSIBLE:
        return ""
    if seconds < CALL and memory + arithmetic < 0.1:
        return "mostly the cost of a call"
    if memory >= MEMORY_BOUND and memory >= arithmetic:
        return f"memory-bound, at {percent(min(1.0, memory))} of what this machine can move"
    if remark:
        return f"not vectorized: {remark}"
    if work is None:
        return f"at {percent(memory)} of what this machine can move"
    share = "" if work.loops else f", at about {percent(min(1.0, arithmetic))} of this machine's arithmetic"
    if work.dearest and (arithmetic >= FAR or (memory < FAR and (work.loops or arithmetic >= SCALAR))):
        return f"compute-bound in {work.dearest}{share}"
    if arithmetic >= COMPUTE_BOUND or work.loops:
        return f"compute-bound{share}"
    far = "far from" if max(memory, arithmetic) < FAR else "between"
    of_arithmetic = f"about {percent(arithmetic)}" if arithmetic >= SCALAR else "under 1 %"
    return f"{far} the limits: {percent(memory)} of memory, {of_arithmetic} of arithmetic"
