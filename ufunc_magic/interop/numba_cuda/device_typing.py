"""What the type inference of numba-cuda and of numba-cuda-mlir, which share it, is told of a CUDA cell's functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ...model import ObjectCode
from ...runtime import PlainFunction
from ...runtime.device import CudaFunction, Kernel
from .device_calls import Form, Given, choose, code_of, forms, refusal, words

__all__ = ["Vocabulary", "register"]


@dataclass(frozen=True)
class Vocabulary:
    """The words of one implementation: ``root`` is where its modules are, ``"numba.cuda"`` for numba-cuda."""

    root: str

    @cached_property
    def types(self) -> Any:
        return self.module("types")

    def module(self, name: str) -> Any:
        """One of its modules."""
        return importlib.import_module(f"{self.root}.{name}")

    def fault(self, text: str) -> Exception:
        """What type inference reports with the kernel's line."""
        made: Exception = self.module("core.errors").TypingError(text)
        return made

    def given(self, kind: Any) -> Given | None:
        """What an argument of Numba's type ``kind`` is to us, None for what is no number and no pointer to some."""
        types = self.types
        kind = types.unliteral(kind)
        pointer = isinstance(kind, types.CPointer)
        item = kind.dtype if pointer else kind
        if not isinstance(item, types.Boolean | types.Number):
            return None
        return Given(np.dtype(self.module("np.numpy_support").as_dtype(item)), pointer)

    def type_of(self, given: Given) -> Any:
        """Numba's type of an operand."""
        kind = self.module("np.numpy_support").from_dtype(given.dtype)
        return self.types.CPointer(kind) if given.pointer else kind

    def form(self, offered: Sequence[Form], kinds: Sequence[Any]) -> Form:
        """The form for arguments that type inference has accepted."""
        form = choose(offered, [given for kind in kinds if (given := self.given(kind)) is not None])
        assert form is not None  # it would not have
        return form

    def signature(self, form: Form, kinds: Sequence[Any]) -> Any:
        """The signature of a call of ``form`` with arguments of ``kinds``."""
        results = [self.type_of(g) for g in form.gives]
        returned = self.types.none if not results else results[0] if len(results) == 1 else self.types.Tuple(results)
        # Pointers to void take what is given.
        taken = [k if g.dtype.kind == "V" else self.type_of(g) for k, g in zip(kinds, form.takes, strict=True)]
        return self.module("typing.templates").signature(returned, *taken)


_Lower = Callable[[Any, tuple[Form, ...], ObjectCode], None]


def register(vocabulary: Vocabulary, lower: _Lower) -> None:
    """Let kernels name functions of ours.

    Parameters
    ----------
    vocabulary : Vocabulary
    lower : callable
        Given a key, the forms and the object code, once for each function, when a kernel first names it.
    """
    typeof_impl = vocabulary.module("typing.typeof").typeof_impl
    general = typeof_impl.dispatch(object)

    @cache
    def function_type(name: str, object_code: ObjectCode) -> Any:
        code = next(code for code in object_code.functions if code.name == name)
        offered = forms(code, object_code)
        key = f"{name} of {object_code.name} ({object_code.digest[:12]})"
        lower(key, offered, object_code)
        return vocabulary.types.Function(_template(vocabulary, name, key, offered))

    def typed(value: Any, context: Any) -> Any:
        found = code_of(value)
        if found is None:
            return general(value, context)
        code, object_code = found
        if reason := refusal(code, object_code):
            raise vocabulary.fault(f"{code.name} {reason}.")
        return function_type(code.name, object_code)

    for kind in (np.ufunc, PlainFunction, CudaFunction, Kernel):
        typeof_impl.register(kind)(typed)


def _template(vocabulary: Vocabulary, name: str, key: str, offered: tuple[Form, ...]) -> Any:
    base = vocabulary.module("typing.templates").AbstractTemplate

    def generic(self: Any, args: Sequence[Any], kws: Any) -> Any:
        given = [g for kind in args if (g := vocabulary.given(kind)) is not None]
        if kws or len(given) < len(args):
            raise vocabulary.fault(_told(vocabulary, name, args, kws))
        form = choose(offered, given)
        if form is None:
            raise vocabulary.fault(words(name, offered, given))
        return vocabulary.signature(form, args)

    return type(f"CudaCell_{name}", (base,), {"key": key, "generic": generic})


def _told(vocabulary: Vocabulary, name: str, args: Sequence[Any], kws: Any) -> str:
    if kws:
        return f"{name}() takes no arguments by name in a kernel. Give them in their order."
    asked = f"{name}({', '.join(map(str, args))})"
    if any(isinstance(kind, vocabulary.types.Array) for kind in args):
        return (
            f"{asked} is given an array. "
            f"Call it with elements, {name}(x[i], ...), or with ffi.from_buffer(x) where C takes a pointer."
        )
    return f"{asked} is given something that is no number."
