"""Few events from many reports, the first and the last always among them."""

from __future__ import annotations

from engine.events import Event, WarmUpProgress
from engine.telemetry.warm_up_meter import WarmUpMeter


def test_at_most_one_event_in_100_ms_and_never_an_old_last_one() -> None:
    now, events = [5], list[Event]()
    meter = WarmUpMeter(events.append, lambda: now[0], 7)
    for done in range(11):
        meter.report(done, 10, done * 100)
        now[0] += 30_000_000
    meter.flush()
    meter.flush()
    assert [e.done_experts for e in events if isinstance(e, WarmUpProgress)] == [0, 4, 8, 10]
    assert events[-1] == WarmUpProgress(request_id=7, done_experts=10, total_experts=10, bytes_read=1000)
