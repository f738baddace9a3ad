"""The two-lane queue between the engine thread and whoever shows its events."""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Callable

from engine.events import METRIC_EVENTS, Event, ExpertsSampled, TextDelta

_METRICS_CAPACITY = 256
# An ExpertsSampled of a large model takes more than half a megabyte.
_EXPERTS_CAPACITY = 4
# Below this backlog every TextDelta stays its own event; above it the consumer counts as slow.
_MERGE_FROM_BACKLOG = 64
# Merged texts stay short, so that a merge never copies much and memory grows with the text alone.
_MERGED_CHARACTERS = 4096


class EventQueue:
    """Events in `seq` order, from any thread to any thread; `put` never waits for a consumer.

    The lifecycle lane drops nothing, but merges adjacent text of one answer when the consumer is slow.
    The metrics lane keeps the newest `metrics_capacity` events, of them the newest four ExpertsSampled, and
    counts what it drops.
    """

    def __init__(self, clock: Callable[[], int], metrics_capacity: int = _METRICS_CAPACITY) -> None:
        self._clock = clock
        self._condition = threading.Condition(threading.Lock())
        self._lifecycle: deque[Event] = deque()
        self._metrics: deque[Event] = deque(maxlen=metrics_capacity)
        self._last_seq = 0
        self._dropped_metrics = 0

    @property
    def dropped_metrics(self) -> int:
        """Metric events dropped so far (cumulative)."""
        return self._dropped_metrics

    def __len__(self) -> int:
        return len(self._lifecycle) + len(self._metrics)

    def put(self, event: Event) -> None:
        """Stamp `seq` and `t_ns` and enqueue; any thread, returns at once."""
        with self._condition:
            self._last_seq += 1
            stamped = dataclasses.replace(event, seq=self._last_seq, t_ns=self._clock())
            if isinstance(stamped, METRIC_EVENTS):
                self._put_metric(stamped)
            else:
                self._put_lifecycle(stamped)
            self._condition.notify_all()

    def drain(self, max_events: int) -> list[Event]:
        """Remove and return up to `max_events` of the oldest events in `seq` order; never blocks for long."""
        with self._condition:
            count = min(max_events, len(self))
            return [self._oldest_lane().popleft() for _ in range(count)]

    def wait(self, timeout_seconds: float) -> bool:
        """Block until an event is queued or the time is over; True if there is an event."""
        with self._condition:
            return self._condition.wait_for(lambda: len(self) > 0, timeout_seconds)

    def _put_metric(self, event: Event) -> None:
        if isinstance(event, ExpertsSampled):
            self._make_room_for_experts()
        if len(self._metrics) == self._metrics.maxlen:
            self._dropped_metrics += 1
        self._metrics.append(event)

    def _make_room_for_experts(self) -> None:
        places = [i for i, queued in enumerate(self._metrics) if isinstance(queued, ExpertsSampled)]
        if len(places) == _EXPERTS_CAPACITY:
            del self._metrics[places[0]]
            self._dropped_metrics += 1

    def _put_lifecycle(self, event: Event) -> None:
        merged = self._merged_with_last(event)
        if merged is not None:
            self._lifecycle.pop()
        self._lifecycle.append(merged or event)

    def _merged_with_last(self, event: Event) -> TextDelta | None:
        if len(self._lifecycle) < _MERGE_FROM_BACKLOG or not isinstance(event, TextDelta):
            return None
        last = self._lifecycle[-1]
        if not isinstance(last, TextDelta) or last.request_id != event.request_id:
            return None
        if len(last.text) + len(event.text) > _MERGED_CHARACTERS:
            return None
        return dataclasses.replace(event, text=last.text + event.text)

    def _oldest_lane(self) -> deque[Event]:
        if not self._metrics:
            return self._lifecycle
        if not self._lifecycle or self._metrics[0].seq < self._lifecycle[0].seq:
            return self._metrics
        return self._lifecycle
