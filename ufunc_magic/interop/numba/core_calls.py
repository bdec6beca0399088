"""Ufuncs with core dimensions in compiled code: called as Python calls them, on boxed arrays, holding the GIL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from numba.core import cgutils, types
from numba.core.callconv import RETCODE_EXC
from numba.core.errors import NumbaTypeError

from .loop_symbols import Linked, loop_types

__all__ = ["lowering", "result_types"]


def result_types(link: Linked, arguments: Sequence[Any], place: int) -> tuple[Any, ...]:
    """Numba's types of the results: arrays of the broadcast and the core dimensions, numbers where there are none."""
    inputs, _, outputs = link.code.core.partition("->")
    given = [argument.ndim if isinstance(argument, types.ArrayCompatible) else 0 for argument in arguments]
    whole = [ndim - cores for ndim, cores in zip(given, _counts(inputs), strict=True)]
    if min(whole) < 0:
        short = whole.index(min(whole))
        raise NumbaTypeError(
            f"{link.ufunc.__name__}, {link.code.core}: argument {short + 1} has {given[short]} dimensions. "
            "Give it all of its core dimensions."
        )
    kinds = loop_types(link.code.loops[place])[link.code.nin :]
    dimensions = [max(whole) + cores for cores in _counts(outputs)]
    return tuple(types.Array(kind, ndim, "A") if ndim else kind for kind, ndim in zip(kinds, dimensions, strict=True))


def _counts(part: str) -> list[int]:
    """How many core dimensions each operand has: ``(m,n),()`` is 2 and 0."""
    return [len(names.split(",")) if names.strip() else 0 for names in re.findall(r"\(([^)]*)\)", part)]


def lowering(link: Linked) -> Callable[..., Any]:
    """What writes a call of the ufunc, in the form of Numba's registries."""

    def lowered(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        api = context.get_python_api(builder)
        state = api.gil_ensure()
        environment = context.get_env_manager(builder)
        function = environment.read_const(environment.add_const(link.ufunc))
        boxed = []
        for kind, value in zip(sig.args, args, strict=True):
            context.nrt.incref(builder, kind, value)  # boxing takes a reference
            boxed.append(api.from_native_value(kind, value, environment))
        result = api.call_function_objargs(function, boxed)
        for one in boxed:
            api.decref(one)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, result)):
            api.gil_release(state)
            context.call_conv._return_errcode_raw(builder, RETCODE_EXC)
        native = api.to_native_value(sig.return_type, result)
        if native.cleanup is not None:
            native.cleanup()
        api.decref(result)
        api.gil_release(state)
        with cgutils.if_unlikely(builder, native.is_error):
            context.call_conv._return_errcode_raw(builder, RETCODE_EXC)
        return native.value

    return lowered
