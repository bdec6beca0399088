"""What a function does with the values of a ufunc's inputs, in terms of its core dimensions."""

from __future__ import annotations

from ..model import IndexUse, Operand, OperandUse, Signature


def find_operand_uses(signature: Signature) -> tuple[OperandUse, ...]:
    """The use of each input; empty where none is known."""
    places = {operand.index: position for position, operand in enumerate(signature.inputs)}
    uses = []
    for operand in signature.inputs:
        use = signature.function.parameters[operand.index].use
        limits = [limit for index in use.indexes if (limit := _limit(index, signature))]
        searched = [places[k] for k in use.within if k in places]
        below = tuple(dict.fromkeys(text for _, text in limits))
        # An array of indices of itself, such as one of parents, is in order if it leads nowhere else.
        rising = use.rising or any(index.parameter == operand.index for index in use.indexes)
        within = -1 if rising or below or not searched else searched[0]
        uses.append(OperandUse(max([0, *(low for low, _ in limits)]), below, rising, within))
    return tuple(uses) if any(use != OperandUse() for use in uses) else ()


def _limit(use: IndexUse, signature: Signature) -> tuple[int, str] | None:
    """The smallest value, and the size that all values are below; None if no input tells."""
    scale = use.scale
    if use.parameter < 0:
        length = str(use.length)
    elif use.axis < 0:
        length = signature.sizes.get(use.parameter, "")
    else:
        array = next((o for o in (*signature.inputs, *signature.outputs) if o.index == use.parameter), None)
        if array is None:
            return None
        length = _find_length(use, array)
        if use.mixed and scale > 1:  # x[3*i + k]: i counts rows of 3
            length, scale = length if len(array.core) > 1 else f"({length})//{scale}", 1
    if not length:
        return None
    stop = f"({length})-{use.shift}" if use.shift > 0 else f"({length})+{-use.shift}" if use.shift else length
    return max(0, -(use.shift // scale)), stop if scale == 1 else f"(({stop})+{scale - 1})//{scale}"


def _find_length(use: IndexUse, array: Operand) -> str:
    """The length that bounds one term of an index, perhaps of several: cautious where nothing says which."""
    core = [str(size) for size in array.core]
    several = len(core) > 1
    if not core:
        return "1"
    if not use.flat:
        return "1" if use.mixed or use.axis >= len(core) else core[use.axis]
    if use.row or (use.mixed and use.scale > 1):
        return core[0] if several or not use.row else "1"
    if use.mixed:
        return core[-1] if several else "1"
    return "*".join(f"({size})" for size in core) if several else core[0]
