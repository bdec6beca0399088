"""A def of a Cython cell as users get it: Cython's function for all that is no array, its ufunc for arrays.

The type is C (``templates/def_function.c``) and stands in the objects that need it.  The first one that is opened gives
it to the process; classes below `DefFunction` are how Python knows it.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .locks import lock_of

#: What a ufunc takes by keyword: with one of these a call is the ufunc's, whatever its arguments are.
_UFUNC_KEYWORDS = frozenset("out where axis axes keepdims casting order dtype subok signature sig".split())


class DefFunction:
    """A function of a Cython cell; ``ufunc`` is what computes arrays, ``__wrapped__`` what Cython has made.

    Its other attributes are the function's and, where that has none of the name, the ufunc's.
    """

    __slots__ = ()

    ufunc: np.ufunc
    __wrapped__: Any

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError  # in C

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__wrapped__)

    def __dir__(self) -> list[str]:
        methods = (name for name in dir(self.ufunc) if not name.startswith("__"))
        return sorted({*dir(self.__wrapped__), *methods, "ufunc", "__wrapped__", "__signature__"})


#: Attributes that are the object's own.
_OWN = frozenset("ufunc __wrapped__ __signature__ __class__ __dir__ __call__ __get__ __reduce__ __reduce_ex__".split())

#: The process's one type, and the object that its code is in, kept open.
_type: list[tuple[Callable[..., DefFunction], ctypes.CDLL]] = []


def bound(function: Any, ufunc: np.ufunc, *, parameters: Sequence[str], handle: ctypes.CDLL) -> DefFunction | None:
    """The callable of a function and its ufunc; None where the object has no code for it.

    Parameters
    ----------
    function : cython_function_or_method
    ufunc : numpy.ufunc
    parameters : sequence of str
        Names that arguments may be given by.
    handle : CDLL
        The opened object that both are in.
    """
    make = getattr(handle, "__ufm_def_type_2", None)
    if make is None:
        return None
    with lock_of("the type of a def"):
        if not _type:
            four = (ctypes.py_object,) * 4
            own = ctypes.PYFUNCTYPE(ctypes.py_object, *four)(ctypes.cast(make, ctypes.c_void_p).value or 0)
            _type.append((own(DefFunction, np.ndarray, np.generic, _OWN), handle))
    enclosed = ctypes.cast(handle.__ufm_enclosed_1, ctypes.c_void_p).value or 0
    keywords = _UFUNC_KEYWORDS.difference(parameters)
    by_place = getattr(getattr(function, "__code__", None), "co_argcount", len(parameters))
    return _type[0][0](function, ufunc, tuple(parameters), keywords, enclosed, by_place)


def ufunc_of(function: Any) -> np.ufunc | None:
    """The ufunc that a function is, or computes arrays with; None if it has none."""
    ufunc = function.ufunc if isinstance(function, DefFunction) else function
    return ufunc if isinstance(ufunc, np.ufunc) else None
