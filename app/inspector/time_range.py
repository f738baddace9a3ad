"""Which part of the time axis is shown: zoom and pan as pure values."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_SPAN_NS = 200_000_000
MOST_SPAN_NS = 1_800_000_000_000


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From `start_ns` to `end_ns` of the engine's clock."""

    start_ns: int
    end_ns: int

    @property
    def span_ns(self) -> int:
        return self.end_ns - self.start_ns

    def zoomed(self, factor: float, anchor_ns: int) -> TimeRange:
        """`factor` times as much time, at least 0.2 s; `anchor_ns` stays where it is on the screen."""
        span_ns = min(max(round(self.span_ns * factor), LEAST_SPAN_NS), MOST_SPAN_NS)
        place = (anchor_ns - self.start_ns) / self.span_ns
        start_ns = round(anchor_ns - place * span_ns)
        return TimeRange(start_ns, start_ns + span_ns)

    def moved(self, share: float) -> TimeRange:
        """Later by a share of the span; negative: earlier."""
        shift_ns = round(self.span_ns * share)
        return TimeRange(self.start_ns + shift_ns, self.end_ns + shift_ns)

    def ending_at(self, end_ns: int) -> TimeRange:
        """The same span before `end_ns`."""
        return TimeRange(end_ns - self.span_ns, end_ns)

    def kept_within(self, oldest_ns: int, newest_ns: int) -> TimeRange:
        """Moved so that it ends at the newest figure at the latest, and shows some of the oldest."""
        end_ns = min(max(self.end_ns, oldest_ns + self.span_ns // 2), newest_ns)
        return self.ending_at(end_ns)


def range_between(first_ns: int, second_ns: int) -> TimeRange:
    """The two ends in any order, never an empty range."""
    start_ns = min(first_ns, second_ns)
    return TimeRange(start_ns, max(first_ns, second_ns, start_ns + 1))
