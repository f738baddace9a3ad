"""When resident pools are elected anew, and how fast their heat fades."""

from __future__ import annotations

DECAY_PER_TOKEN = 0.98
_DECODE_PASSES_PER_PROMOTION = 8


class PromotionClock:
    """Promotion after every prefill unit, and after every eighth token of an answer."""

    def __init__(self) -> None:
        self._decode_passes = 0

    def is_due(self, is_prefill: bool) -> bool:
        """Call once at the end of each pass."""
        self._decode_passes = 0 if is_prefill else self._decode_passes + 1
        return is_prefill or self._decode_passes % _DECODE_PASSES_PER_PROMOTION == 0
