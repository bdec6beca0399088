"""The line that says that a cell is being compiled."""

from __future__ import annotations

import threading

import pytest

from ufunc_magic import pipeline
from ufunc_magic.model import Options
from ufunc_magic.notebook.waiting import Waiting
from ufunc_magic.render import Progress


class Outputs:
    """What a front end would show, line after line."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.twice = threading.Event()

    def update(self, texts: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts.append(texts["text/plain"])
        self.twice.set()

    def display(self, texts: dict[str, str], *, raw: bool, display_id: bool) -> Outputs:
        assert raw
        assert display_id
        self.texts.append(texts["text/plain"])
        return self


def test_the_line_counts_and_says_where_an_interrupt_came() -> None:
    outputs = Outputs()

    def interrupted() -> None:
        with Waiting(Progress(outputs.display, float), "compiling In[3]", pause=0.001):
            assert outputs.twice.wait(300)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    first, *_, last = outputs.texts
    assert first == "compiling In[3]: 0 s"
    assert last == "stopped at compiling In[3]: 0 s"


def test_the_line_says_what_was_stopped_even_if_that_had_just_begun() -> None:
    outputs = Outputs()

    def interrupted() -> None:
        with Waiting(Progress(outputs.display, float), "compiling In[3]", pause=0.001) as waiting:
            assert outputs.twice.wait(300)
            waiting.begin("trying out In[3]")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert outputs.texts[-1] == "stopped at trying out In[3]: 0 s"


def test_what_follows_the_compiler_is_told_as_it_begins() -> None:
    steps: list[str] = []
    options = Options(time=False)
    for _ in range(2):
        pipeline.build("double f(double x) { return x; }", language="c", options=options, name="c", doing=steps.append)
    assert steps == ["trying out", "loading"]


def test_the_line_says_how_far_it_is() -> None:
    outputs = Outputs()
    progress = Progress(outputs.display, float)
    with Waiting(progress, "compiling In[3]", how_far=lambda: "40 of 100 functions", pause=0.001):
        assert outputs.twice.wait(300)
    assert outputs.texts[0] == "compiling In[3]: 40 of 100 functions, 0 s"


def test_what_is_soon_done_and_what_has_no_front_end_shows_nothing() -> None:
    outputs = Outputs()
    with Waiting(Progress(outputs.display, float), "compiling In[3]", pause=60):
        pass
    with Waiting(Progress(None, float), "compiling In[3]", pause=0):
        pass
    assert outputs.texts == []
