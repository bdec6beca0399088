"""Relocatable object code opened through llvmlite: for what was made where there is no linker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..model import ObjectCode, TargetError

#: `ObjectCode.preload` of such code.
PRELOAD = ("llvmlite.binding",)


@dataclass(frozen=True)
class Opened:
    """Addresses of the loops by index; ``handle`` keeps their memory."""

    loops: tuple[int, ...]
    handle: Any = field(repr=False)


def is_relocatable(object_code: ObjectCode) -> bool:
    """Whether it is opened here and not by the system's loader."""
    return object_code.preload == PRELOAD


def open_object(object_code: ObjectCode) -> Opened:
    """Link relocatable object code into this process.  The target is to be checked before.

    Raises
    ------
    TargetError
        If llvmlite is missing or refuses it.
    """
    try:
        import llvmlite.binding as llvm
    except ImportError as fault:
        raise TargetError(
            f"{object_code.name} was made where there is no linker: llvmlite would link it here, and is missing.",
            remedy="Install llvmlite, or make it where there is a C compiler.",
        ) from fault
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    last = max((loop.index for f in object_code.functions for loop in f.loops), default=-1)
    builder = llvm.JITLibraryBuilder().add_object_img(object_code.code).add_current_process()
    names = [f"__ufm_loop_{k}" for k in range(last + 1)]
    for name in names:
        builder.export_symbol(name)
    compiler = llvm.create_lljit_compiler()
    try:
        tracker = builder.link(compiler, f"ufunc_magic {object_code.digest}")
    except RuntimeError as fault:
        raise TargetError(f"{object_code.name} cannot be linked here: {fault}.") from fault
    return Opened(tuple(tracker[name] for name in names), (compiler, tracker))
