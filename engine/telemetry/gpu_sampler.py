"""Reads the cards once a second, while somebody wants to know, on a thread that nobody waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.hardware.nvml import GpuFacts, NvmlLibrary, NvmlSession, nvml_library

_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class GpuSample:
    """All cards at one time of the sampler's clock."""

    t_ns: int
    cards: tuple[GpuFacts, ...]


class GpuSampler:
    """`latest` may be read anywhere and never waits; `set_wanted` and `close` belong to the owner.

    The thread starts with the first wish. Where there is no NVML or no card it ends at once and none is
    started again. It is a daemon, since a call into a driver that hangs can't be ended.
    """

    def __init__(
        self,
        library: Callable[[], NvmlLibrary | None] = nvml_library,
        interval_seconds: float = _INTERVAL_SECONDS,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """`library` is called on the sampler's thread."""
        self._library, self._interval_seconds, self._clock = library, interval_seconds, clock
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_wanted = self._is_closed = False
        self._latest: GpuSample | None = None
        self._has_cards: bool | None = None

    @property
    def latest(self) -> GpuSample | None:
        """The newest sample; None before the first, without a card, and while nobody wants any."""
        return self._latest

    @property
    def has_cards(self) -> bool | None:
        """None until it was looked for."""
        return self._has_cards

    @property
    def is_running(self) -> bool:
        """Whether there is a thread, sampling or waiting for a wish."""
        return self._thread is not None and self._thread.is_alive()

    def set_wanted(self, is_wanted: bool) -> None:
        """Sample from now on, or no more; returns at once."""
        with self._changed:
            self._is_wanted = is_wanted
            self._changed.notify_all()
        if is_wanted and self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="emberglass-gpu", daemon=True)
            self._thread.start()

    def close(self, timeout_seconds: float = 0.5) -> None:
        """End the thread; one that hangs in the driver by then is left to itself. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def _run(self) -> None:
        library = self._library()
        while self._wait_for_wish():
            session = NvmlSession.open(library)
            self._has_cards = session is not None
            if session is None:
                return
            try:
                self._sample(session)
            finally:
                self._latest = None
                session.close()

    def _sample(self, session: NvmlSession) -> None:
        while self._is_wanted and not self._is_closed:
            self._latest = GpuSample(self._clock(), session.read())
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or not self._is_wanted, self._interval_seconds)

    def _wait_for_wish(self) -> bool:
        """False when the sampler is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._is_wanted)
            return not self._is_closed
