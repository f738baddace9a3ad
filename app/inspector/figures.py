"""Numbers as words: one way to write each unit, and n/a for what is unknown."""

from __future__ import annotations

import math
import re

from engine.config import format_size

UNKNOWN = "n/a"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|s|ms|tok/s|[KMGT]iB|[kMGT]?B(?:/s)?)(?!\w))")
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def rate_text(bytes_per_second: float | None) -> str:
    """Decimal, as drives are sold: 1.9 GB/s, 350 MB/s."""
    if bytes_per_second is None or math.isnan(bytes_per_second):
        return UNKNOWN
    for factor, prefix in _DECIMAL:
        if bytes_per_second >= factor:
            return f"{bytes_per_second / factor:.3g} {prefix}B/s"
    return f"{bytes_per_second:.0f} B/s"


def speed_text(tokens_per_second: float | None) -> str:
    """Tokens per second: 61.8 tok/s."""
    if tokens_per_second is None or math.isnan(tokens_per_second):
        return UNKNOWN
    return f"{tokens_per_second:.1f} tok/s"


def percent_text(share: float | None) -> str:
    """A share of 0..1: 71 %, 0.4 %; a little is never rounded to 0 %, nor almost all to 100 %."""
    if share is None or math.isnan(share):
        return UNKNOWN
    percent = share * 100
    if 0 < percent < 1 or 99 < percent < 100:
        return f"{math.floor(percent * 10) / 10 or 0.1:.1f} %"
    return f"{percent:.0f} %"


def count_text(count: int | None) -> str:
    """Whole numbers in groups of three: 24,576."""
    return UNKNOWN if count is None else f"{count:,}"


def part_text(part_bytes: int, whole_bytes: int) -> str:
    """A part of a size, with the unit once if both have it: 1.2 of 2.8 GiB, 981 KiB of 5.75 MiB."""
    part, whole = format_size(part_bytes), format_size(whole_bytes)
    number, unit = part.split()
    return f"{number if whole.endswith(f' {unit}') else part} of {whole}"


def milliseconds_text(nanoseconds: int) -> str:
    """Whole milliseconds, tenths below ten: 4,782 ms, 0.3 ms."""
    milliseconds = nanoseconds / 1e6
    return f"{milliseconds:,.1f} ms" if 0 < milliseconds < 10 else f"{milliseconds:,.0f} ms"


def seconds_text(nanoseconds: int) -> str:
    """Seconds, with a tenth only where it says something: 5 s, 2.1 s."""
    return f"{nanoseconds / 1e9:.1f}".removesuffix(".0") + " s"


def unbroken(words: str) -> str:
    """With figures and their units that stay on one line, though they may wrap at spaces and slashes."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", words).replace("/s", "\N{WORD JOINER}/\N{WORD JOINER}s")
