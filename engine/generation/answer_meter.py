"""Times and counters of one answer."""

from __future__ import annotations

from collections.abc import Callable

from engine.events import Counters, TtftPhases, Usage


class AnswerMeter:
    """Cuts the time to the first visible text into phases without gaps, on one monotonic clock.

    Time starts at construction. `clock` gives nanoseconds, `counters` cumulative counters.
    `before` is (load_ns, initialise_ns, warm_up_ns) as far as this request waited for them.
    """

    def __init__(
        self,
        clock: Callable[[], int],
        counters: Callable[[], Counters],
        queue_ns: int = 0,
        before: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self._start_ns = clock()
        self._clock = clock
        self._counters = counters
        self._before = counters()
        self._queue_ns, self._waited = queue_ns, before
        self._prompt_ready_ns = self._prefill_end_ns = self._start_ns
        self._first_text_ns: int | None = None
        self._prefill_disk_wait_ns = self._prefill_transfer_wait_ns = 0

    def prompt_ready(self) -> None:
        """The prompt is tokenised; prefill begins."""
        self._prompt_ready_ns = self._clock()

    def prefill_elapsed_ns(self) -> int:
        """Time since prompt_ready()."""
        return self._clock() - self._prompt_ready_ns

    def prefill_ended(self) -> None:
        """Prefill is complete or was cancelled."""
        self._prefill_end_ns = self._clock()
        before, now = self._before, self._counters()
        self._prefill_disk_wait_ns = now.disk_wait_prefill_ns - before.disk_wait_prefill_ns
        self._prefill_transfer_wait_ns = now.transfer_wait_prefill_ns - before.transfer_wait_prefill_ns

    def text_shown(self) -> None:
        """Visible text is about to be shown; the first call ends the measured time."""
        if self._first_text_ns is None:
            self._first_text_ns = self._clock()

    def phases(self) -> TtftPhases:
        """Phases up to the first text, or up to now if there was none; call after prefill_ended()."""
        end_ns = self._clock() if self._first_text_ns is None else self._first_text_ns
        return TtftPhases(
            queue_ns=self._queue_ns,
            load_ns=self._waited[0],
            initialise_ns=self._waited[1],
            warm_up_ns=self._waited[2],
            template_ns=self._prompt_ready_ns - self._start_ns,
            prefill_ns=self._prefill_end_ns - self._prompt_ready_ns,
            first_decode_ns=end_ns - self._prefill_end_ns,
            prefill_disk_wait_ns=self._prefill_disk_wait_ns,
            prefill_transfer_wait_ns=self._prefill_transfer_wait_ns,
        )

    def usage(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> Usage:
        """Tokens as given; times, bytes and waits since construction."""
        before, now = self._before, self._counters()
        return Usage(
            prompt_tokens,
            cached_tokens,
            completion_tokens,
            prefill_ns=now.prefill_ns - before.prefill_ns,
            decode_ns=now.decode_ns - before.decode_ns,
            bytes_read=now.bytes_read - before.bytes_read,
            disk_wait_ns=now.disk_wait_ns - before.disk_wait_ns,
        )
