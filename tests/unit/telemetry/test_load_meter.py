"""Load progress: few events, nothing important lost, a rate over two seconds."""

from __future__ import annotations

import pytest

from engine.events import Event, LoadPhase, LoadProgress
from engine.telemetry.load_meter import LoadMeter
from tests.support.virtual_time import VirtualTime


class Recorder:
    """A meter on a virtual clock and what it emitted."""

    def __init__(self) -> None:
        self.events: list[LoadProgress] = []
        self.time = VirtualTime()
        self.meter = LoadMeter(self._emit, self.time.clock, request_id=7)

    def _emit(self, event: Event) -> None:
        assert isinstance(event, LoadProgress)
        self.events.append(event)

    def report(self, phase: LoadPhase, done: int, after_seconds: float = 0.0) -> None:
        if after_seconds:
            self.time.sleep(after_seconds)
        self.meter.report(phase, done, 1000)


def test_reports_within_50_ms_are_held_back() -> None:
    recorder = Recorder()
    for done in range(0, 100, 10):
        recorder.report(LoadPhase.DENSE_READ, done, after_seconds=0.01)
    # at 0 ms the first, then one every 50 ms
    assert [event.done_bytes for event in recorder.events] == [0, 50]


def test_the_last_report_of_each_phase_is_never_lost() -> None:
    recorder = Recorder()
    recorder.report(LoadPhase.DENSE_READ, 0)
    recorder.report(LoadPhase.DENSE_READ, 999, after_seconds=0.01)
    recorder.report(LoadPhase.CONTEXT, 0, after_seconds=0.01)
    recorder.report(LoadPhase.CONTEXT, 1, after_seconds=0.01)
    recorder.meter.flush()
    recorder.meter.flush()
    assert [(event.phase, event.done_bytes) for event in recorder.events] == [
        (LoadPhase.DENSE_READ, 0),
        (LoadPhase.DENSE_READ, 999),
        (LoadPhase.CONTEXT, 0),
        (LoadPhase.CONTEXT, 1),
    ]
    assert {event.request_id for event in recorder.events} == {7}


def test_rate_forgets_what_is_older_than_two_seconds() -> None:
    recorder = Recorder()
    done = 0
    for speed in (100, 400):
        for _ in range(30):
            recorder.report(LoadPhase.DENSE_READ, done, after_seconds=0.1)
            done += speed // 10
    recorder.report(LoadPhase.DENSE_READ, done, after_seconds=0.1)
    # three seconds at 100 B/s, then three at 400 B/s: the window sees only the latter
    assert recorder.events[-1].bytes_per_second == pytest.approx(400)
    assert recorder.events[20].bytes_per_second == pytest.approx(100)


def test_steps_have_no_rate() -> None:
    recorder = Recorder()
    recorder.report(LoadPhase.SLOTS, 0)
    recorder.report(LoadPhase.SLOTS, 5, after_seconds=1)
    assert [event.bytes_per_second for event in recorder.events] == [0.0, 0.0]
