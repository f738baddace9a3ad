"""The most that a drive or a link gives, and whether that was measured or only seen so far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ceiling:
    """`bytes_per_second` is 0 if nothing is known; without `is_measured` it is the highest rate seen."""

    bytes_per_second: float
    is_measured: bool

    @staticmethod
    def of(measured_bytes_per_second: float | None, seen_bytes_per_second: float) -> Ceiling:
        """A rate that was seen counts even if a measurement came to less."""
        highest = max(measured_bytes_per_second or 0.0, seen_bytes_per_second)
        return Ceiling(highest, measured_bytes_per_second is not None)

    def share(self, bytes_per_second: float) -> float | None:
        """Part of the measured maximum, 0..1; None if that wasn't measured."""
        return (
            bytes_per_second / self.bytes_per_second if self.is_measured and self.bytes_per_second else None
        )


NOT_MEASURED = Ceiling(0.0, is_measured=False)
