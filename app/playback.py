"""A recorded run as a telemetry store at any of its times; no Qt."""

from __future__ import annotations

import copy
from bisect import bisect_right
from pathlib import Path

from app.telemetry_store import TelemetryStore
from engine.events import ExpertsSampled
from engine.telemetry.trace_events import EventDecoder
from engine.telemetry.trace_file import decode_line, read_lines

_LEAST_BETWEEN_CHECKPOINTS = 200
_MOST_CHECKPOINTS = 16  # each holds a copy of the store, a few megabytes


class Playback:
    """Opens at the end of the recording. One thread; a seek takes milliseconds to a second.

    Times count from the first event. Going back starts at the checkpoint before that time.
    """

    def __init__(self, path: Path) -> None:
        """Raises TraceFileError."""
        self.name = path.name
        self.store = TelemetryStore()
        self._lines = read_lines(path)
        self._start_ns = self._lines[0].t_ns if self._lines else 0
        self._times_ns = [line.t_ns - self._start_ns for line in self._lines]
        self._done = 0
        self._decoder = EventDecoder()
        self._checkpoint_gap = max(_LEAST_BETWEEN_CHECKPOINTS, len(self._lines) // _MOST_CHECKPOINTS)
        self._checkpoints: list[tuple[int, TelemetryStore, ExpertsSampled | None]] = []
        self._keep_checkpoint()
        self.seek(self.span_ns)

    @property
    def span_ns(self) -> int:
        """From the first event to the last."""
        return self._times_ns[-1] if self._times_ns else 0

    def seek(self, t_ns: int) -> None:
        """Put `store` at this time; events at the time itself have happened. Raises TraceFileError."""
        wanted = bisect_right(self._times_ns, t_ns)
        if wanted < self._done:
            place = bisect_right([done for done, _, _ in self._checkpoints], wanted) - 1
            self._done, kept, self._decoder.previous = self._checkpoints[place]
            self.store = copy.deepcopy(kept)
        while self._done < wanted:
            event = decode_line(self._lines[self._done], self._decoder)
            self._done += 1
            if event is not None:
                self.store.apply([event])
            if self._done - self._checkpoints[-1][0] >= self._checkpoint_gap:
                self._keep_checkpoint()

    def _keep_checkpoint(self) -> None:
        self._checkpoints.append((self._done, copy.deepcopy(self.store), self._decoder.previous))
