"""Colours of the residency map: one per tier, and for two seconds the colour of the move that led there."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from app.expert_moves import MOVES, ExpertMoves, Move
from app.inspector.expert_grid import COLOUR_STEPS
from app.inspector.plot_theme import PlotColours
from engine.placement.tier import Tier

FADE_LEVELS = 4
_STRONGEST = 0.75  # part of a move's colour in the newest sample
_TIERS_ROOM = 8  # steps per level of a move; at most so many tiers


def place_indices(tiers: NDArray[np.uint8], moves: ExpertMoves) -> NDArray[np.uint8]:
    """Colour step of each place, shape as `tiers`."""
    fresh = moves.freshness(FADE_LEVELS)
    marks = (moves.kinds - np.uint8(Move.LOADED)) * np.uint8(FADE_LEVELS) + fresh
    return np.where(fresh > 0, marks * np.uint8(_TIERS_ROOM) + tiers, tiers).astype(np.uint8)


def place_table(colours: PlotColours) -> NDArray[np.uint8]:
    """Colour per step, uint8, shape (256, 3); a move never hides the tier it led to."""
    tiers = np.array([_rgb(colour) for colour in colours.tiers], np.float64)
    table = np.zeros((COLOUR_STEPS, 3), np.uint8)
    table[: len(Tier)] = tiers
    for number, colour in enumerate(colours.moves[: len(MOVES)]):
        for level in range(1, FADE_LEVELS + 1):
            first = (number * FADE_LEVELS + level) * _TIERS_ROOM
            share = _STRONGEST * level / FADE_LEVELS
            table[first : first + len(Tier)] = (1 - share) * tiers + share * np.array(_rgb(colour))
    return table


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue, _ = pg.mkColor(colour).getRgb()
    return red, green, blue
