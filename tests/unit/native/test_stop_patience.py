"""A stop waits for an answer for ten seconds; without one an answer may take for ever."""

from __future__ import annotations

from engine.native.stop_patience import PATIENCE_SECONDS, StopPatience


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_may_take_for_ever_if_nobody_stops() -> None:
    clock = Clock()
    patience = StopPatience(clock)
    with patience.asking():
        clock.now += 100_000
        assert not patience.is_over()


def test_a_stop_waits_ten_seconds_from_when_it_began() -> None:
    clock = Clock()
    patience = StopPatience(clock)
    with patience.asking():
        clock.now += 1000
        patience.is_stopping = lambda: True
        assert not patience.is_over()
        clock.now += PATIENCE_SECONDS
        assert not patience.is_over()
        clock.now += 0.1
        assert patience.is_over()


def test_each_answer_begins_anew_and_nothing_asked_is_nothing_missed() -> None:
    clock = Clock()
    patience = StopPatience(clock)
    patience.is_stopping = lambda: True
    assert not patience.is_over()
    clock.now += 60
    assert not patience.is_over()
    with patience.asking():
        clock.now += PATIENCE_SECONDS - 1
        assert not patience.is_over()
    with patience.asking():
        clock.now += PATIENCE_SECONDS - 1
        assert not patience.is_over()
        clock.now += 2
        assert patience.is_over()


def test_who_goes_on_is_not_held_to_an_earlier_stop() -> None:
    clock = Clock()
    patience = StopPatience(clock)
    with patience.asking():
        for is_stopping in (True, False, True):
            patience.is_stopping = lambda is_stopping=is_stopping: is_stopping  # type: ignore[misc] # its default
            assert not patience.is_over()
            clock.now += PATIENCE_SECONDS - 1
        assert not patience.is_over()
