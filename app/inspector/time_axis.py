"""What part of the time is shown and selected, and whether it follows the newest sample; no Qt."""

from __future__ import annotations

from app.inspector.time_range import LEAST_SPAN_NS, TimeRange


class TimeAxis:
    """Follows from the start; a pan into the past stops that, a pan back to the newest sample resumes it."""

    def __init__(self, span_seconds: float) -> None:
        self.newest_ns = self._oldest_ns = 0
        self.shown = TimeRange(-int(span_seconds * 1e9), 0)
        self.selection: TimeRange | None = None
        self.is_following = True

    @property
    def middle_ns(self) -> int:
        """The middle of what is shown."""
        return (self.shown.start_ns + self.shown.end_ns) // 2

    def take(self, oldest_ns: int, newest_ns: int) -> None:
        """There are samples between these times; another run (an earlier clock) is followed from anew."""
        if newest_ns < self.newest_ns:
            self.selection, self.is_following = None, True
        self._oldest_ns, self.newest_ns = oldest_ns, newest_ns
        if self.is_following:
            self.shown = self.shown.ending_at(newest_ns)

    def zoom(self, factor: float, anchor_ns: int) -> None:
        """`factor` times as much time around `anchor_ns`; around the newest sample while following."""
        self._show(self.shown.zoomed(factor, self.newest_ns if self.is_following else anchor_ns))

    def pan(self, share: float) -> None:
        """Later by a share of what is shown; negative: earlier."""
        self._show(self.shown.moved(share))

    def show_last(self, seconds: float) -> None:
        """The newest `seconds`, and follow."""
        self.shown = TimeRange(self.newest_ns - int(seconds * 1e9), self.newest_ns)
        self.is_following = True

    def fit_selection(self) -> None:
        """Show the selection and nothing else."""
        if self.selection is not None:
            end_ns = max(self.selection.end_ns, self.selection.start_ns + LEAST_SPAN_NS)
            self._show(TimeRange(self.selection.start_ns, end_ns))

    def follow(self, is_following: bool) -> None:
        """Go to the newest sample and stay there, or stay here."""
        self.is_following = is_following
        if is_following:
            self.shown = self.shown.ending_at(self.newest_ns)

    def _show(self, part: TimeRange) -> None:
        self.shown = part.kept_within(self._oldest_ns, self.newest_ns)
        self.is_following = self.shown.end_ns >= self.newest_ns
