"""What can be chosen for a load, and how values are written. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from engine.config import LoadSettings, Repack, Routing, format_size, parse_size_bytes
from engine.errors import UsageError

_MOST_COUNT = 1_000_000
SIZES = ("ram_budget_bytes", "vram_budget_bytes")
COUNTS = ("pool_per_layer", "hot_per_layer", "unit_tokens", "staging_slots")
ON_A_DEVICE = ("vram_budget_bytes", "staging_slots")  # say nothing without a device
WITH_POOLS = ("is_pool_fixed",)  # say nothing with exact routing
DEVICES = "devices"
Option = StrEnum | bool

OPTIONS: dict[str, tuple[tuple[str, Option], ...]] = {
    "routing": (("Exact", Routing.EXACT), ("Resident", Routing.RESIDENT)),
    "is_pool_fixed": (("Learn", False), ("Stay fixed", True)),
    "repack": (("Automatic", Repack.AUTO), ("On", Repack.ON), ("Off", Repack.OFF)),
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """`settings` are None where a text is no value; `faults` says in words why, by field."""

    settings: LoadSettings | None
    faults: Mapping[str, str]


def text_of(name: str, settings: LoadSettings) -> str:
    """As it would be typed; empty for automatic."""
    value = getattr(settings, name)
    if value is None:
        return ""
    return exact_size(value) if name in SIZES else str(value)


def exact_size(size_bytes: int) -> str:
    """The shortest text that is read back as the same number of bytes."""
    short = format_size(size_bytes)
    return short if parse_size_bytes(short) == size_bytes else f"{size_bytes} B"


def read_choices(
    base: LoadSettings,
    texts: Mapping[str, str],
    options: Mapping[str, Option],
    devices: Sequence[str] | None = None,
) -> Chosen:
    """`base` with what the fields say; what no field is there for stays."""
    values: dict[str, Any] = dict(options)
    faults: dict[str, str] = {}
    for name, text in texts.items():
        try:
            values[name] = _value(name, text)
        except UsageError as error:
            faults[name] = str(error)
    if devices is not None:
        values[DEVICES] = tuple(devices)
    faults = _contradictions(values) | faults
    return Chosen(None if faults else replace(base, **values), faults)


def _value(name: str, text: str) -> int | None:
    text = text.strip()
    if not text or text.lower() in ("auto", "automatic"):
        return None
    return _size(text) if name in SIZES else _count(text, least=0 if name == "hot_per_layer" else 1)


def _size(text: str) -> int:
    if text.replace(".", "").isdigit():
        raise UsageError(f"“{text}” has no unit.", f"Write {text} GiB or {text} MiB.")
    size_bytes = parse_size_bytes(text)
    if size_bytes <= 0:
        raise UsageError("The size must be above 0.", "Leave the field empty for automatic.")
    return size_bytes


def _count(text: str, least: int) -> int:
    plain = text.replace(",", "")
    if not plain.isascii() or not plain.isdigit():
        raise UsageError(f"“{text}” is not a whole number.", "Leave the field empty for automatic.")
    if not least <= int(plain) <= _MOST_COUNT:
        raise UsageError(f"The number must be between {least} and {_MOST_COUNT:,}, not {text}.")
    return int(plain)


def _contradictions(values: Mapping[str, Any]) -> dict[str, str]:
    hot, pool = values.get("hot_per_layer"), values.get("pool_per_layer")
    if hot is not None and pool is not None and hot > pool:
        return {
            "hot_per_layer": f"Hot experts are part of the pool: at most {pool}, as many as it has slots."
        }
    return {}
