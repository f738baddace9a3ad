"""Where the window changes the settings that a fault names."""

from __future__ import annotations

from engine.errors import ErrorInfo

_BUDGET = "on the inspector’s Budget page"
_PLACES = {
    "ram_budget_bytes": f"“Memory budget” {_BUDGET}",
    "vram_budget_bytes": f"“Device budget” {_BUDGET}",
    "unit_tokens": f"“Prompt unit” {_BUDGET}",
    "context_tokens": "“Context” in the dialog that opens a model",
}


def next_step_with_places(error: ErrorInfo) -> str:
    """What to do, and which controls of the window do it."""
    places = [_PLACES[name] for name in error.settings if name in _PLACES]
    return f"{error.next_step} See {', and '.join(places)}." if places else error.next_step
