"""Properties that are computed once for each object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["kept"]

_Value = TypeVar("_Value")


class kept(Generic[_Value]):
    """``functools.cached_property`` without its lock.

    Python 3.11 has one for each class, which a child finds locked for ever if another thread of its parent was at work
    when it forked.  Here two threads may compute the same value, and one of them stays.
    """

    def __init__(self, make: Callable[[Any], _Value]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object, owner: type) -> Self | _Value:
        if instance is None:
            return self
        value = self._make(instance)
        instance.__dict__[self._name] = value
        return value
