"""What the first cell of a notebook would wait for is made before it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ufunc_magic import compilers, store
from ufunc_magic.notebook import first_use


def test_only_a_notebook_prepares(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[object] = []
    monkeypatch.setattr(
        first_use.threading, "Timer", lambda *a: timers.append(a) or SimpleNamespace(start=lambda: None)
    )
    first_use.prepare(SimpleNamespace())  # type: ignore[arg-type]
    assert timers == []
    first_use.prepare(SimpleNamespace(kernel=object()))  # type: ignore[arg-type]
    assert timers == [(first_use.PAUSE, first_use.begin)]


@pytest.mark.slow
def test_what_was_prepared_is_not_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = []
    monkeypatch.setattr(compilers, "start_python", programs.append, raising=False)
    first_use.begin()
    first_use.begin()  # the first has not ended
    assert len(programs) == 2
    entries = len(store.open_default().list_entries())
    assert compilers.run_python(programs[0]) == (0, "")
    assert len(store.open_default().list_entries()) > entries
    first_use.begin()
    assert len(programs) == 2


def test_what_a_first_cell_imports_is_there_before_it() -> None:
    program = """
import asyncio, sys, types
from ufunc_magic.notebook import first_use
first_use.begin = lambda: None
wanted = ["numpy", *(f"ufunc_magic.{name}" for name in first_use.MODULES)]

async def loads_the_extension():
    first_use.prepare(types.SimpleNamespace(kernel=object()))
    early = [name for name in wanted if name in sys.modules]
    while not all(name in sys.modules for name in wanted):
        await asyncio.sleep(0.01)
    return early

sys.exit(asyncio.run(loads_the_extension()) or 0)
"""
    assert compilers.run_python(program) == (0, "")
