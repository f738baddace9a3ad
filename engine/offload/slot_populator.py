"""Gives slots their physical pages ahead of the first reads, in a thread of its own.

A fresh page is cleared when it is first touched, which would hold up the reader that touches it. Populating
changes no content, so it may run beside reads into the same slots.
"""

from __future__ import annotations

import threading

from engine.offload.slot_arena import SlotArena

_PIECE_BYTES = 8 << 20  # a few milliseconds each: how long `close` may have to wait


class SlotPopulator:
    """Works through all arenas once, lowest slots first (they are taken first), until done or closed."""

    def __init__(self, arenas: list[SlotArena]) -> None:
        self._arenas = arenas
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="emberglass-populate", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for arena in self._arenas:
            step = max(1, _PIECE_BYTES // arena.slot_bytes)
            for first in range(0, arena.n_slots, step):
                if self._is_stopped.is_set():
                    return
                arena.populate(first, min(step, arena.n_slots - first))

    def close(self) -> None:
        """Stop and join; before the arenas are freed. Idempotent."""
        self._is_stopped.set()
        self._thread.join()
