"""What to tell the user about a device's memory after a load."""

from __future__ import annotations

from engine.config import format_size
from engine.placement.vram_spill import VramFigures, VramState, judge_vram

_NEXT_STEP = "Choose a smaller device budget, or close what else uses the card, and load again."


def vram_notes(name: str, figures: VramFigures) -> tuple[str, ...]:
    """Sentences about the device `name`; none if all is well."""
    state = judge_vram(figures)
    if state is VramState.GOOD:
        return ()
    return (_WORDS[state](name, figures),)


def _spilled(name: str, figures: VramFigures) -> str:
    rate = format_size(int(figures.fill_bytes_per_second or 0))
    return (
        f"Part of what is on the device “{name}” is in this machine's memory (“shared GPU memory”): "
        f"its slots give {rate}/s, as little as the link. {_NEXT_STEP}"
    )


def _suspected(name: str, figures: VramFigures) -> str:
    return (
        f"The device “{name}” took {format_size(figures.asked_bytes)} though it has less: part of it is "
        f"probably in this machine's memory (“shared GPU memory”), and slow. {_NEXT_STEP}"
    )


def _overdrawn(name: str, figures: VramFigures) -> str:
    return (
        f"The device “{name}” lost {format_size(figures.taken_bytes)} of memory, more than "
        f"{format_size(figures.budget_bytes)} as planned: "
        "choose a smaller device budget if something else runs short."
    )


def _tight(name: str, figures: VramFigures) -> str:
    return (
        f"Only {format_size(figures.free_after_bytes)} are free on the device “{name}”: the next program "
        "that wants some may push part of the model into this machine's memory, which is slow. "
        f"Leave {format_size(figures.headroom_bytes)} free by a smaller device budget."
    )


_WORDS = {
    VramState.SPILLED: _spilled,
    VramState.SUSPECTED: _suspected,
    VramState.OVERDRAWN: _overdrawn,
    VramState.TIGHT: _tight,
}
