"""How much memory of a graphics card is in use, by its driver; asked once, and not waited for long."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.hardware.nvml import GpuFacts, NvmlLibrary, NvmlSession, nvml_library

_MOST_SECONDS = 2.0


def card_used_bytes(
    name: str,
    library: Callable[[], NvmlLibrary | None] = nvml_library,
    most_seconds: float = _MOST_SECONDS,
) -> int | None:
    """In use by all programs on the card of this name; None if there is not exactly one, or nobody answers.

    A call into a driver that hangs can't be ended: its thread is left to itself then.
    """
    found: list[GpuFacts] = []

    def ask() -> None:
        session = NvmlSession.open(library())
        if session is not None:
            found.extend(session.read())
            session.close()

    thread = threading.Thread(target=ask, name="emberglass-card", daemon=True)
    thread.start()
    thread.join(most_seconds)
    cards = [card for card in tuple(found) if card.name == name]
    return cards[0].memory_used_bytes if len(cards) == 1 else None
