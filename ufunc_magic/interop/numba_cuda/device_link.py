"""The code that a linker puts into kernels of Numba's: made by NVRTC when first needed, kept in the cache."""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

from ... import store
from ...model import CompileError, ObjectCode, UfuncMagicError
from ...toolchain import nvrtc

__all__ = ["install_linking", "linked_code", "linked_library"]


def linked_code(object_code: ObjectCode, *, output: Literal["ltoir", "ptx"]) -> bytes:
    """A cell with its shims, compiled to be linked.

    Parameters
    ----------
    object_code : ObjectCode
        Of a CUDA cell.
    output : {"ltoir", "ptx"}
        LTO-IR is inlined into kernels that are linked with ``lto``, their default; PTX is called.

    Raises
    ------
    ToolchainError
        If NVRTC is not installed.
    CompileError
        If NVRTC refuses the cell.
    """
    arch = _architecture(object_code)
    if output == "ltoir":
        return nvrtc.ltoir(object_code, arch)
    flags = nvrtc.flags(object_code.options)
    texts = [nvrtc.unit_text(object_code, apart=apart) for apart in (True, False)]
    key = store.key(["ptx of a cell and its shims", nvrtc.identity(), arch, *flags, *texts])
    if entry := store.default().get(key):
        return entry.code
    # A cell that does not fit into a namespace of its own is linked as it is.
    made = _ptx(object_code, texts[0], arch, flags) or _ptx(object_code, texts[1], arch, flags, last=True)
    return store.default().publish(key, record=b"", code=made).code


def _ptx(object_code: ObjectCode, text: str, arch: str, flags: tuple[str, ...], *, last: bool = False) -> bytes:
    try:
        made = nvrtc.compile(text, name=object_code.name, cell=object_code.source, arch=arch, options=flags)
    except CompileError:
        if last:
            raise
        return b""
    return made.code.rstrip(b"\0")


def _architecture(object_code: ObjectCode) -> str:
    """The oldest, whose code links for every GPU, unless the cell may ask which one it is compiled for."""
    compiler = nvrtc.find()
    made_for = str(object_code.device.get("arch", ""))
    if compiler is None or (made_for and re.search(r"__CUDA_ARCH__|#\s*include", object_code.source)):
        return made_for or "compute_75"
    return nvrtc.architecture(compiler)


@functools.cache
def linked_library(object_code: ObjectCode) -> Any:
    """What numba-cuda adds to a kernel that calls functions of the cell: one object, so that it is linked once."""
    from numba.cuda.codegen import ExternalCodeLibrary
    from numba.cuda.descriptor import cuda_target

    library = ExternalCodeLibrary(f"ufunc_magic {object_code.name}", cuda_target.target_context.codegen())
    library.add_linking_file(_cell_code()(object_code))
    return library


@functools.cache
def _cell_code() -> Any:
    from numba import cuda

    class CellCode(cuda.LTOIR):  # type: ignore[misc, name-defined, unused-ignore]
        """A cell's code, inlined where the kernel is linked with ``lto``, called where it is not."""

        def __init__(self, object_code: ObjectCode) -> None:
            super().__init__(linked_code(object_code, output="ltoir"), name=object_code.name)
            self.object_code = object_code

        def as_called(self) -> Any:
            return cuda.PTXSource(linked_code(self.object_code, output="ptx"), name=self.name)

    return CellCode


def install_linking() -> None:
    """Teach numba-cuda's linker to take a cell's code in the form it needs, and its cache to say why it cannot."""
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.cudadrv.driver import _Linker

    add, reduced = _Linker.add_file_guess_ext, CUDACodeLibrary._reduce_states

    @functools.wraps(add)
    def add_code(self: Any, code: Any, *args: Any, **kwargs: Any) -> Any:
        # A device function is compiled once for kernels with and without lto, so only the linker knows.
        return add(self, code if self.lto or not isinstance(code, _cell_code()) else code.as_called(), *args, **kwargs)

    @functools.wraps(reduced)
    def reduce_states(self: Any) -> Any:
        if cells := sorted({code.name for code in self._linking_files if isinstance(code, _cell_code())}):
            raise UfuncMagicError(
                f"{self.name} calls functions of {', '.join(cells)}, and Numba's cache would not notice when a cell "
                "changes: the kernel cannot be cached.",
                remedy="Leave cache=True out; the cell's own code is in ufunc_magic's cache.",
            )
        return reduced(self)

    _Linker.add_file_guess_ext, CUDACodeLibrary._reduce_states = add_code, reduce_states
