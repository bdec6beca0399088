"""What the first cell of a notebook would wait for is made before it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ufunc_magic import store, toolchain
from ufunc_magic.notebook import first_use


def test_only_a_notebook_prepares(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[object] = []
    monkeypatch.setattr(
        first_use.threading, "Timer", lambda *a: timers.append(a) or SimpleNamespace(start=lambda: None)
    )
    first_use.prepare(SimpleNamespace())  # type: ignore[arg-type]
    assert timers == []
    first_use.prepare(SimpleNamespace(kernel=object()))  # type: ignore[arg-type]
    assert timers == [(first_use.PAUSE, first_use._begin)]


def test_what_was_prepared_is_not_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = []
    monkeypatch.setattr(toolchain, "start_python", programs.append, raising=False)
    first_use._begin()
    first_use._begin()  # the first has not ended
    assert len(programs) == 2
    entries = len(store.default().entries())
    assert toolchain.run_python(programs[0]) == (0, "")
    assert len(store.default().entries()) > entries
    first_use._begin()
    assert len(programs) == 2
