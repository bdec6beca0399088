"""The base of functions that a language binds itself, for another machine than the CPU."""

from __future__ import annotations

from ..model import ObjectCode


class BoundFunction:
    """A function of a language's own; pickles find its object code by this class.

    Attributes
    ----------
    object_code : ObjectCode
    """

    object_code: ObjectCode
    __name__: str
