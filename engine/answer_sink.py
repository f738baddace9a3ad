"""Turns what a session reports about one answer into events."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from engine.events import Event, GenerationStarted, PrefillProgress, TextDelta
from engine.telemetry.pass_sampler import PassSampler

_PROGRESS_GAP_NS = 100_000_000


class AnswerSink:
    """A GenerationSink for one request; engine thread only, every call well under a millisecond."""

    def __init__(
        self,
        request_id: int,
        context_tokens: int,
        emit: Callable[[Event], None],
        sampler: PassSampler,
        after_pass: Callable[[], None],
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """`after_pass` is called last after every pass."""
        self._request_id = request_id
        self._context_tokens = context_tokens
        self._emit = emit
        self._sampler = sampler
        self._after_pass = after_pass
        self._clock = clock
        self._progress: PrefillProgress | None = None
        self._progress_due_ns = self._prefill_since_ns = 0

    def started(self, prompt_tokens: int, cached_tokens: int) -> None:
        """The prompt is tokenised. Shows an empty bar at once: the first unit may take many seconds."""
        self._emit(
            GenerationStarted(
                request_id=self._request_id,
                prompt_tokens=prompt_tokens,
                cached_tokens=cached_tokens,
                context_tokens=self._context_tokens,
            )
        )
        self.prefill(cached_tokens, prompt_tokens, cached_tokens, 0)

    def prefill(self, done: int, total: int, cached: int, elapsed_ns: int) -> None:
        """One more unit is in the KV cache; the last one samples everything."""
        self._prefill_since_ns = self._clock() - elapsed_ns
        self._progress = PrefillProgress(
            request_id=self._request_id,
            done_tokens=done,
            total_tokens=total,
            cached_tokens=cached,
            elapsed_ns=elapsed_ns,
        )
        self._emit(self._progress)
        if done == total:
            self._progress = None
            self._sampler.finish(self._request_id)

    def layer_done(self, layers_done: int, layers_total: int) -> None:
        """Inside a unit of the prompt: say how far it is, and sample what is due."""
        now = self._clock()
        if self._progress is None or now < self._progress_due_ns:
            return
        self._progress_due_ns = now + _PROGRESS_GAP_NS
        self._emit(
            dataclasses.replace(
                self._progress,
                elapsed_ns=now - self._prefill_since_ns,
                layers_done=layers_done,
                layers_total=layers_total,
            )
        )
        self._sampler.pass_done(self._request_id)

    def text(self, delta: str, completion_tokens: int) -> None:
        """Whole characters to append."""
        self._emit(TextDelta(request_id=self._request_id, text=delta, completion_tokens=completion_tokens))

    def pass_done(self) -> None:
        """A pass is over."""
        self._sampler.pass_done(self._request_id)
        self._after_pass()
