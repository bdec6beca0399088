"""What a cell waits for is said, and what the first would wait for is made before it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ufunc_magic import store, toolchain
from ufunc_magic.notebook import waiting
from ufunc_magic.render import Progress
from ufunc_magic.toolchain import processes


class Output:
    """What IPython's display returns, and shows."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.shown = threading.Event()

    def __call__(self, data: dict[str, str], **options: Any) -> Output:
        self.update(data)
        return self

    def update(self, data: dict[str, str], **options: Any) -> None:
        self.texts.append(data["text/plain"])
        self.shown.set()


def test_a_cell_that_takes_long_says_what_it_waits_for_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "AFTER", 0)
    output = Output()
    with waiting.Waiting(Progress(output, lambda: 0.0)):
        output.shown.wait()
    assert output.texts[0] == "0 s: The compiler is at work. The first cell takes longest."
    assert output.texts[-1] == ""


def test_a_cell_that_does_not_take_long_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "AFTER", 1e6)
    output = Output()
    with pytest.raises(KeyboardInterrupt), waiting.Waiting(Progress(output, lambda: 0.0)):
        raise KeyboardInterrupt
    assert output.texts == []


def test_zig_that_builds_its_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def running(*words: str) -> dict[Any, None]:
        return {_Process(words): None}

    monkeypatch.setattr(processes, "_running", running("/opt/zig", "c++", "-shared", "unit.o"))
    assert toolchain.under_way() == "zig builds its own library, in C++ for minutes. This happens once."
    monkeypatch.setattr(processes, "_running", running("/opt/zig", "cc", "-shared", "unit.o", "-nostdlib"))
    assert toolchain.under_way() == "The compiler is at work. The first cell takes longest."


class _Process:
    def __init__(self, words: tuple[str, ...]) -> None:
        self.args = words


def test_only_a_notebook_prepares(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[object] = []
    monkeypatch.setattr(waiting.threading, "Timer", lambda *a: timers.append(a) or SimpleNamespace(start=lambda: None))
    waiting.prepare(SimpleNamespace())  # type: ignore[arg-type]
    assert timers == []
    waiting.prepare(SimpleNamespace(kernel=object()))  # type: ignore[arg-type]
    assert timers == [(waiting.BEFORE_PREPARING, waiting._begin)]


def test_what_was_prepared_is_not_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = []
    monkeypatch.setattr(toolchain, "start_python", programs.append, raising=False)
    waiting._begin()
    waiting._begin()  # the first has not ended
    assert len(programs) == 2
    entries = len(store.default().entries())
    assert toolchain.run_python(programs[0]) == (0, "")
    assert len(store.default().entries()) > entries
    waiting._begin()
    assert len(programs) == 2
