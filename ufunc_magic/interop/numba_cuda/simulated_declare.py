"""``cuda.declare_device`` written by hand, in Numba's CUDA simulator: what would be linked is compiled for the CPU."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...model import SignatureError

__all__ = ["Declared", "install"]

_Compile = Callable[..., Mapping[str, Any]]


@dataclass(eq=False)
class Declared:
    """A function that was declared, and the one of the linked source that it is."""

    name: str
    abi: str = "numba"
    _function: Any = None

    @property
    def is_linked(self) -> bool:
        return self._function is not None

    @property
    def function(self) -> Any:
        """As ``%%cuda_device`` would bind it."""
        if self._function is None:
            raise SignatureError(
                f"{self.name} is declared, but no source is linked that the simulator could compile.",
                remedy="Give it: cuda.declare_device(..., link=cuda.CUSource(text)), or link='file.cu'.",
            )
        return self._function

    def link(self, text: str, compile_cuda: _Compile) -> None:
        """Compile the source, and be the function of that name."""
        made = compile_cuda(text, abi=self.abi, name=f"<source of {self.name}>")
        if self.name not in made:
            raise SignatureError(
                f"{self.name} is declared, and the linked source has no such function.",
                remedy=f"It has {', '.join(made)}.",
            )
        self._function = made[self.name]

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


@dataclass(frozen=True)
class Source:
    """CUDA C++ in memory, for a simulator that has no class of this kind."""

    data: Any
    name: str = "<source>"


def install(compile_cuda: _Compile) -> None:
    """Have the simulator's ``cuda.declare_device`` and ``cuda.jit`` take source to link."""
    from numba import cuda
    from numba.cuda.simulator import api

    waiting: dict[str, Declared] = {}
    jit = cuda.jit

    def declare_device(name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba") -> Any:
        made = Declared(name, abi)
        text = "\n".join(_sources(link))
        if text:
            made.link(text, compile_cuda)
        else:
            waiting[name] = made
        return made

    @functools.wraps(jit)
    def jit_and_link(*args: Any, link: Any = None, **kwargs: Any) -> Any:
        text = "\n".join(_sources(link))
        for name in [name for name in waiting if name in text]:
            waiting.pop(name).link(text, compile_cuda)
        return jit(*args, **kwargs)

    for place in (cuda, api):
        place.declare_device, place.jit = declare_device, jit_and_link
        if not hasattr(place, "CUSource"):
            place.CUSource = Source


def _sources(link: Any) -> Iterator[str]:
    """The CUDA C++ among what is given to link."""
    for code in link if isinstance(link, list | tuple | set) else [link]:
        if isinstance(code, str | os.PathLike):
            path = Path(code)
            if path.suffix == ".cu":
                yield path.read_text(encoding="utf-8")
        elif type(code).__name__ in ("CUSource", "Source"):
            text = code.data.getvalue() if hasattr(code.data, "getvalue") else code.data
            yield text.decode() if isinstance(text, bytes) else str(text)
