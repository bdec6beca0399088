"""Compiling with a profile (``--pgo``): options for the two compilations and the program that runs between them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ...compilers import Toolchain
from ...model import ToolchainError

#: Before the module's name in the run that makes the profile; ``if "_pgo_" in __name__`` is documented for %%cython.
#: The dot leaves the last part, which names the init function, as it is.
MODULE_PREFIX = "_pgo_."


def list_profile_flags(step: Literal["gen", "use"], *, folder: Path, toolchain: Toolchain) -> tuple[str, ...]:
    """Options of one of the two compilations, for compiling and linking alike.

    Both must write the same output file, since gcc files the profile under its name; and the first result must
    have run, in a process that has ended, before the second is made.

    Parameters
    ----------
    step : {"gen", "use"}
    folder : Path
        Where the profile is kept: an empty folder of its own.
    toolchain : Toolchain

    Raises
    ------
    ToolchainError
        For a compiler that is not gcc.
    """
    if toolchain.kind != "gcc":
        raise ToolchainError(f"--pgo needs gcc, not {toolchain}.", remedy="Remove --pgo, or set CC=gcc.")
    if step == "gen":
        # Atomic where the machine can: a prange loop counts on several threads.  One target: what picks a loop for the
        # CPU runs before the library's addresses are known, and would crash at its counters.
        atomic = "-fprofile-update=prefer-atomic"
        return ("-fprofile-generate", atomic, f"-fprofile-dir={folder}", "-D__UFM_ONE_TARGET")
    # Without -fprofile-partial-training, what did not run (the ufuncs' loops) is optimised for size.  The loops for
    # several CPUs are not those of the first compilation.
    quiet = ("-Wno-missing-profile", "-Wno-coverage-mismatch")
    return (f"-fprofile-use={folder}", "-fprofile-correction", "-fprofile-partial-training", *quiet)


def is_written(folder: Path) -> bool:
    """Whether a run left a profile: one that was killed leaves none."""
    return any(path.suffix == ".gcda" for path in folder.rglob("*"))


def run_module_text(path: Path, *, module: str, preload: Sequence[str] = ()) -> str:
    """A program for ``python -c`` that imports the extension module at ``path``, and ends.

    Parameters
    ----------
    path : Path
        The shared library.
    module : str
        The name that it was compiled under.
    preload : sequence of str
        Modules to import first.
    """
    # The notebook's own search path: the cell may import what the user made findable.
    lines = ["import sys", f"sys.path[:] = {sys.path!r}", *(f"import {name}" for name in preload)]
    lines += [
        "from importlib.machinery import ExtensionFileLoader",
        "from importlib.util import module_from_spec, spec_from_file_location",
        f"name, path = {MODULE_PREFIX + module!r}, {os.fspath(path)!r}",
        "spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))",
        "module = sys.modules[name] = module_from_spec(spec)",
        "spec.loader.exec_module(module)",
    ]
    return "\n".join(lines)
