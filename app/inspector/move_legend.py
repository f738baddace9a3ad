"""Which moves a model's experts can make, with their colours."""

from __future__ import annotations

from app.expert_moves import MOVES, Move
from app.inspector.display_words import MOVE_WORDS
from app.inspector.plot_theme import PlotColours
from app.inspector.slot_figures import tiers_of
from engine.model_facts import ModelInfo
from engine.placement.tier import Tier

_OF_THE_HOT_ZONE = (Move.PROMOTED, Move.DEMOTED)


def move_entries(colours: PlotColours, model: ModelInfo | None) -> list[tuple[str, str]]:
    """(colour, words) for a legend; without a hot zone nothing moves into it."""
    tiers = tiers_of(model) if model else tuple(Tier)
    has_hot_zone = Tier.HOT in tiers or Tier.VRAM in tiers
    entries = zip(MOVES, colours.moves, strict=True)
    return [
        (colour, MOVE_WORDS[move]) for move, colour in entries if has_hot_zone or move not in _OF_THE_HOT_ZONE
    ]
