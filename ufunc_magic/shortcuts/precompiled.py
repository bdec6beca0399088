"""Precompiled headers: gcc reads the headers that many units begin with in a tenth of the time."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from .. import store
from ..compilers import Toolchain, is_launched, run_command
from .switch import is_plain
from .waiting_compilers import VARIABLES

#: The number of sets of headers, flags and compilers to keep: one takes 12 MB, in C++ 50.
MOST = 4
_FOLDER = "headers"


def include_precompiled(toolchain: Toolchain, text: str, *, flags: Sequence[str]) -> tuple[str, ...]:
    """Flags by which a unit begins with the precompiled headers of ``text``; ``()`` if there are none.

    gcc uses them if its flags equal those of `precompile`, as far as they matter to the headers; otherwise it reads
    ``text``.  Headers that have changed are recognised by size and time.
    """
    if is_plain():
        return ()
    header = store.open_default().recall(f"precompiled 2 {_name(toolchain, text, flags)}")
    return ("-include", header) if header else ()


def can_precompile(toolchain: Toolchain) -> bool:
    """Whether the compiler has precompiled headers that `include_precompiled` may use: gcc itself, on Linux."""
    usable = toolchain.kind == "gcc" and not is_launched(toolchain) and sys.platform.startswith("linux")
    return usable and not is_plain()


def precompile(toolchain: Toolchain, text: str, *, flags: Sequence[str]) -> None:
    """Compile headers for `include_precompiled`, if the compiler can and has not yet; what fails leaves nothing."""
    if not can_precompile(toolchain) or include_precompiled(toolchain, text, flags=flags):
        return
    name, cache = _name(toolchain, text, flags), store.open_default()
    with cache.open_scratch() as folder:
        header = cache.write_scratch(folder / f"{name}.h", text)
        compiled = folder / f"{name}.h.gch"
        language = "c++-header" if toolchain.cplus else "c-header"
        compiling = [*(flag for flag in flags if flag != "-shared"), "-H", "-x", language, str(header)]
        done = run_command([*toolchain.command, *compiling, "-o", str(compiled)], "", folder)
        if done.status:
            return
        files = cache.move_to_storage(_FOLDER, [header, compiled], most=2 * MOST)
    read = dict.fromkeys([*map(str, files), *re.findall(r"(?m)^\.+ (.*)$", done.messages)])
    cache.remember(f"precompiled 2 {name}", str(files[0]), files=read)


def _name(toolchain: Toolchain, text: str, flags: Sequence[str]) -> str:
    around = [os.environ.get(name, "") for name in VARIABLES]
    return store.make_key([repr(toolchain.read_identity()), text, *flags, repr(around)])[:24]
