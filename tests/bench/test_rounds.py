"""Times of calls: what counts of a thread's waiting for a processor."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from support import replace_name
from ufunc_magic.bench import rounds
from ufunc_magic.bench.rounds import CLOCK, Call, Pace, measure


class Machine:
    """A machine with one processor, which two threads of a call share; it counts the other thread's time late."""

    def __init__(self) -> None:
        self.now = self.waited = self.other = self.counted = 0.0
        self.calls = 0

    def call(self, *, helped: bool) -> None:
        """2 ms, of which the calling thread waits for 1.9, while another thread computes, of this process or not."""
        self.calls += 1
        self.now += 0.002
        self.waited += 0.0019
        self.other += 0.0019 * helped
        if self.calls % 4 == 0:
            self.counted = self.other

    def read_clocks(self) -> SimpleNamespace:
        own = lambda: self.now - self.waited  # noqa: E731
        return SimpleNamespace(
            perf_counter=lambda: self.now, thread_time=own, process_time=lambda: own() + self.counted
        )


@pytest.mark.parametrize("helped", [True, False])
def test_waiting_counts_in_all_samples_of_a_call_or_in_none(helped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    replace_name(monkeypatch, rounds, "time", machine.read_clocks())
    replace_name(monkeypatch, rounds, "read_waiting", lambda: machine.waited)
    pace = Pace(deadline=1.0, least=8, most=8, sample=0.0)
    (timing,) = measure([Call(lambda: machine.call(helped=helped))], clock=CLOCK, pace=pace)
    assert timing.durations == pytest.approx([0.002 if helped else 0.0001] * 8)
