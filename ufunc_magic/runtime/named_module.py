"""The module of a cell with ``-n NAME`` as the notebook has it: ``from NAME import f`` gives the f that takes arrays.

The functions of the cell itself go on calling each other in the module that Cython made.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any


class NamedModule(ModuleType):
    """A module with the functions that the notebook has, and everything else of ``module``."""

    _ufm_module: ModuleType
    _ufm_bound: dict[str, Any]

    def __init__(self, module: ModuleType, bound: Mapping[str, Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        super().__setattr__("_ufm_module", module)
        super().__setattr__("_ufm_bound", dict(bound))
        for name in ("__spec__", "__loader__", "__package__", "__file__"):
            super().__setattr__(name, getattr(module, name, None))
        for name, value in bound.items():
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_ufm_"):  # copy() makes a module without attributes first
            raise AttributeError(name)
        return getattr(self._ufm_module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ufm_bound.pop(name, None) is not None:
            super().__delattr__(name)
        setattr(self._ufm_module, name, value)

    def __delattr__(self, name: str) -> None:
        if self._ufm_bound.pop(name, None) is not None:
            super().__delattr__(name)
        if hasattr(self._ufm_module, name):
            delattr(self._ufm_module, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._ufm_module), *self._ufm_bound})

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return {**vars(self._ufm_module), **self._ufm_bound}
