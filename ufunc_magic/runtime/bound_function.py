"""The base class of functions that a language binds itself, for another processor than the CPU."""

from __future__ import annotations

from ..model import ObjectCode


class BoundFunction:
    """A function that a language binds itself; pickles find its object code by this class.

    Attributes
    ----------
    object_code : ObjectCode
    """

    object_code: ObjectCode
    __name__: str
