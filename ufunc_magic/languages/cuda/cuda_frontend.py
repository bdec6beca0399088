"""CUDA cells: the key they are cached under; `cuda_unit` makes object code of them.

As for C, the key is made of what goes in.  NVRTC is no part of it where a host compiler makes the code: then it only
checks the cell, and a cell that was once compiled is not checked again.
"""

from __future__ import annotations

from ... import compilers
from ...cells import make_c_key
from ...model import OptionError, Options, ToolchainError
from . import cuda_names, device


def make_key(source: str, *, options: Options) -> str:
    """Everything but files that could change the machine code, digested.  Starts no process, imports nothing of CUDA's.

    Raises
    ------
    OptionError
        For ``--sandbox``, and for ``--sanitize`` of kernels, where the cell would run on a GPU.
    ToolchainError
        For ``--device gpu`` without a GPU and without NVRTC.
    """
    word = "--sandbox" if options.sandbox else "--sanitize" if options.sanitize and "__global__" in source else ""
    if word and (options.device == "gpu" or (options.device == "auto" and device.is_available())):
        raise OptionError(
            f"{word} is for the emulation, and this cell is for the GPU.",
            remedy=f"Add --device cpu, or remove {word}.",
        )
    compile_only = needs_gpu(options)
    try:
        tool = compilers.find(cplus=True)
    except ToolchainError:
        tool = None  # the GPU's own compiler alone, which may be enough
    nvrtc_identity = ""
    if tool is None or compile_only:
        from . import nvrtc  # what it is matters only here, and asking takes a millisecond

        nvrtc_identity = nvrtc.identify_nvrtc()
    # Code without an emulation is compiled for the GPU alone where there is one, and refused elsewhere.
    gpu = device.is_available() if compile_only or any(word in source for word in cuda_names.GPU_ONLY) else None
    return make_c_key("cuda", source, options=options, tool=tool, more=(repr(gpu), nvrtc_identity))


def needs_gpu(options: Options) -> bool:
    """Whether the cell is only compiled: the user asked for the GPU, and there is none.

    Raises
    ------
    ToolchainError
        If NVRTC is not installed either.
    """
    if options.device != "gpu" or device.is_available():
        return False
    from . import nvrtc

    if not nvrtc.find():
        raise ToolchainError(
            f"--device gpu: no GPU can be used here ({device.explain_missing()}), "
            "and the cell cannot be compiled for one: "
            f"{nvrtc.explain_absence()}",
            remedy="Leave it out, and the cell runs on the CPU where there is no GPU.",
        )
    return True
