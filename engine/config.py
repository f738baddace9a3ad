"""Frozen, validated settings; read once, passed by value."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.errors import UsageError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_UNITS = {
    "": 1, "b": 1,
    "k": KIB, "kib": KIB, "kb": 1000,
    "m": MIB, "mib": MIB, "mb": 1000**2,
    "g": GIB, "gib": GIB, "gb": 1000**3,
    "t": GIB << 10, "tib": GIB << 10, "tb": 1000**4,
}  # fmt: skip


def parse_size_bytes(text: str) -> int:
    """Bytes of "6GiB", "2.5 GB", "512M" or a plain number; raises UsageError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise UsageError(f"“{text}” is not a size.", "Write it like 6GiB, 2.5GB or 512MiB.")
    return int(float(match[1]) * unit)


def format_size(size_bytes: float) -> str:
    """Human-readable binary size: 512 B, 1.5 MiB, 4.26 GiB."""
    size, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024:
            break
        size, unit = size / 1024, larger
    # three digits, but never an exponent: 1,000 to 1,023 have four
    return f"{size:.0f} {unit}" if unit == "B" or abs(size) >= 999.5 else f"{size:.3g} {unit}"


def usable_cores() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Routing(StrEnum):
    """Which experts a token may use: all, or from rank 1 on only those in the resident pool."""

    EXACT = "exact"
    RESIDENT = "resident"


class Repack(StrEnum):
    """Whether slots hold weights laid out for the fastest kernels: where it pays, always, never."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """What to load and how much memory it may take.

    `ram_budget_bytes` caps the resident memory of the process (None: chosen from available memory).
    `unit_tokens` is the number of tokens that pass a layer together in prefill (None: automatic).
    `pool_per_layer`: experts of each layer that keep a slot (None: automatic; 20 with resident routing).
    `is_pool_fixed`: with resident routing, pools don't learn from what is said.
    `trace_path`: record which experts are asked for, and write that there when the model is freed.
    `profile_dir`: folder for what is learned about models (None: nothing is kept or used).
    `slots_per_class` overrides the slot count of every slot class (tests, benches).
    `hot_per_layer`: experts of each layer in the hot zone (None: automatic).
    `devices`: ggml devices to use, such as "rpc:127.0.0.1:50052" (empty: the processor only).
    `vram_budget_bytes` caps what is taken on each device (None: chosen from its free memory).
    `staging_slots`: slots of each class on a device that copies pass through (None: automatic).
    """

    path: Path
    ram_budget_bytes: int | None = None
    context_tokens: int | None = None
    unit_tokens: int | None = None
    threads: int | None = None
    is_prefetch_on: bool = True
    slots_per_class: int | None = None
    reader_threads: int = 4
    trace_path: Path | None = None
    routing: Routing = Routing.EXACT
    pool_per_layer: int | None = None
    is_pool_fixed: bool = False
    profile_dir: Path | None = None
    hot_per_layer: int | None = None
    repack: Repack = Repack.AUTO
    devices: tuple[str, ...] = ()
    vram_budget_bytes: int | None = None
    staging_slots: int | None = None

    def __post_init__(self) -> None:
        names = (
            "ram_budget_bytes", "context_tokens", "unit_tokens", "threads", "slots_per_class",
            "pool_per_layer", "vram_budget_bytes", "staging_slots",
        )  # fmt: skip
        for name in names:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UsageError(f"{name} must be above 0, not {value}.", "Leave it out for automatic.")
        if self.hot_per_layer is not None and self.hot_per_layer < 0:
            raise UsageError(
                f"hot_per_layer must not be below 0, but is {self.hot_per_layer}.", "Use 0 for none."
            )


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Sampler chain: repeat penalty, top-k, top-p, min-p, temperature, seed. Temperature 0 is greedy."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_tokens: int = 64
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks = (
            (self.temperature >= 0, "temperature must be 0 or more"),
            (self.top_k >= 0, "top-k must be 0 (off) or more"),
            (0 < self.top_p <= 1, "top-p must be above 0 and at most 1"),
            (0 <= self.min_p < 1, "min-p must be at least 0 and below 1"),
            (self.repeat_penalty > 0, "repeat penalty must be above 0"),
            (self.max_tokens is None or self.max_tokens > 0, "max tokens must be above 0"),
        )
        for is_ok, rule in checks:
            if not is_ok:
                raise UsageError(f"Bad sampling setting: {rule}.", "Correct the value and try again.")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn; `role` is "system", "user" or "assistant"."""

    role: str
    content: str
