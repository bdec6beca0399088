"""Actions that run as soon as a module is imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def run_when_imported(name: str, action: Callable[[], None]) -> None:
    """Do ``action`` now if the module ``name`` is there, else when its import has ended; once for each action.

    An action may be given again: it is then done again where the module is there already, so it should know.
    """
    if name in sys.modules:
        action()
    finder = next((finder for finder in sys.meta_path if isinstance(finder, _Finder)), None)
    if finder is None:
        finder = _Finder()
        sys.meta_path.insert(0, finder)
    finder.actions[name] = action


class _Finder:
    """Finds awaited modules as everybody else does, and acts when one has been imported."""

    def __init__(self) -> None:
        self.actions: dict[str, Callable[[], None]] = {}
        self._looking = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self.actions or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.actions[name])
        return spec


class _Loader(importlib.abc.Loader):
    """A module's own loader, followed by ``action``."""

    def __init__(self, loader: importlib.abc.Loader, action: Callable[[], None]) -> None:
        self._loader = loader
        self._action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
