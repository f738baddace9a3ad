"""The model that comes with the program, loaded with few slots, so that there is something to see."""

from __future__ import annotations

from pathlib import Path

from engine.config import LoadSettings
from engine.gguf.expert_layout import expert_layout
from engine.gguf.reader import read_model

DEMO_PATH = Path(__file__).resolve().parent.parent / "resources" / "models" / "ember-guide.gguf"
_SHARE_IN_MEMORY = 4


def demo_settings(
    path: Path = DEMO_PATH, ram_budget_bytes: int | None = None, context_tokens: int | None = None
) -> LoadSettings:
    """Slots for a quarter of the experts, so that evictions and disk reads are real.

    A budget that is given decides the slots instead. Raises ModelFileError without the file.
    """
    if ram_budget_bytes is not None:
        return LoadSettings(path, ram_budget_bytes=ram_budget_bytes, context_tokens=context_tokens)
    layers = expert_layout(read_model(path)).layers
    slots = sum(layer.n_expert for layer in layers) // _SHARE_IN_MEMORY
    return LoadSettings(path, context_tokens=context_tokens, slots_per_class=slots)
