"""The functions that users get for a def of a Cython cell: the ufunc for arrays, Cython's own function for the rest.

The type is written in C (``templates/def_function.c``), in each object that needs it.  The process takes it from the
first object that is opened; in Python it is a subclass of `DefFunction`.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..model import CellAssertionError, CellCrashed, CellExited
from .locks import lock_of

#: Keywords of ufuncs: a call with one of these goes to the ufunc, whatever its arguments are.
_UFUNC_KEYWORDS = frozenset("out where axis axes keepdims casting order dtype subok signature sig".split())


class DefFunction:
    """A function of a Cython cell; ``ufunc`` computes arrays, and ``__wrapped__`` is the function from Cython.

    Its other attributes are those of the function, then those of the ufunc.
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

#: Exceptions of calls that were left: the ufunc names the values.
_ENDS = CellCrashed, CellExited, CellAssertionError

#: The process's only such type, and the library of its code, which keeps it open.
_type: list[tuple[Callable[..., DefFunction], ctypes.CDLL]] = []


def bind_def(function: Any, ufunc: np.ufunc, *, parameters: Sequence[str], handle: ctypes.CDLL) -> DefFunction | None:
    """Make the callable of a function and its ufunc; None if the object has no code for it.

    Parameters
    ----------
    function : cython_function_or_method
    ufunc : numpy.ufunc
    parameters : sequence of str
        Names for arguments that are passed by keyword.
    handle : CDLL
        The opened object of both.
    """
    make = getattr(handle, "__ufm_def_type_3", None)
    if make is None:
        return None
    with lock_of("the type of a def"):
        if not _type:
            five = (ctypes.py_object,) * 5
            own = ctypes.PYFUNCTYPE(ctypes.py_object, *five)(ctypes.cast(make, ctypes.c_void_p).value or 0)
            _type.append((own(DefFunction, np.ndarray, np.generic, _OWN, _ENDS), handle))
    keywords = _UFUNC_KEYWORDS.difference(parameters)
    by_place = getattr(getattr(function, "__code__", None), "co_argcount", len(parameters))
    return _type[0][0](function, ufunc, tuple(parameters), keywords, by_place)


def find_ufunc(function: Any) -> np.ufunc | None:
    """The ufunc that a function is, or computes arrays with; None if it has none."""
    ufunc = function.ufunc if isinstance(function, DefFunction) else function
    return ufunc if isinstance(ufunc, np.ufunc) else None
