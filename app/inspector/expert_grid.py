"""Arithmetic of the expert map: order of columns, colour steps, skew, outlines, which labels fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

COLOUR_STEPS = 256
_ID_MASK = 0xFFFF


def id_order(shape: tuple[int, int]) -> NDArray[np.int64]:
    """Expert id shown at each place, sorted by id; shape (layers, experts)."""
    return np.broadcast_to(np.arange(shape[1], dtype=np.int64), shape)


def heat_order(uses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Expert id shown at each place, most used first within its layer; ties (to 1/1024) by id."""
    # sorting keys of uses and id in one integer takes a tenth of the time of a stable argsort
    ids = np.arange(uses.shape[1], dtype=np.int64)
    keys = (uses * 1024).astype(np.int64) << 16 | (_ID_MASK - ids)
    return _ID_MASK - (np.sort(keys, axis=1)[:, ::-1] & _ID_MASK)


def colour_indices(uses: NDArray[np.float64], hottest: float) -> NDArray[np.uint8]:
    """Uses as steps 0..255 of the colour map; only unused experts get step 0."""
    if hottest <= 0:
        return np.zeros(uses.shape, np.uint8)
    return np.ceil(uses * ((COLOUR_STEPS - 1) / hottest)).clip(0, COLOUR_STEPS - 1).astype(np.uint8)


def half_counts(uses: NDArray[np.float64]) -> NDArray[np.int64]:
    """How few experts take half of a layer's picks, shape (layers,); 0 for a layer without picks."""
    return half_counts_of_sorted(np.sort(uses, axis=1)[:, ::-1])


def half_counts_of_sorted(uses: NDArray[np.float64]) -> NDArray[np.int64]:
    """The same for uses that stand most used first in each row."""
    taken = np.cumsum(uses, axis=1)
    total = taken[:, -1] if uses.shape[1] else np.zeros(len(uses))
    counts: NDArray[np.int64] = (taken < total[:, None] / 2).sum(axis=1, dtype=np.int64) + 1
    return np.where(total > 0, counts, 0)


def arranged(order: NDArray[np.int64], *maps: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], ...]:
    """At most four maps by expert id, each as places of `order`; all have its shape.

    Gathered together as one number per place: gathering is what takes the time.
    """
    packed = np.zeros((*order.shape, 4), np.uint8)
    for number, each in enumerate(maps):
        packed[..., number] = each
    gathered = np.take_along_axis(packed.view(np.uint32)[..., 0], order, axis=1)
    apart = gathered.view(np.uint8).reshape(packed.shape)
    return tuple(np.ascontiguousarray(apart[..., number]) for number in range(len(maps)))


def outline_lines(
    is_inside: NDArray[np.bool_], row: int = 0, column: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lines around the marked places, as pairs of points (x, y); the first place is at (`column`, `row`)."""
    padded = np.pad(is_inside, 1)
    upright_y, upright_x = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    level_y, level_x = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    x = np.concatenate((np.repeat(upright_x, 2), np.column_stack((level_x, level_x + 1)).ravel()))
    y = np.concatenate((np.column_stack((upright_y, upright_y + 1)).ravel(), np.repeat(level_y, 2)))
    return x + column, y + row


def label_step(pixels_per_place: float, label_pixels: float) -> int:
    """Every how many places a label fits: 1, 2, 5, 10, 20, 50 ..."""
    needed = label_pixels / max(pixels_per_place, 1e-6)
    decade = 1
    while decade * 5 < needed:
        decade *= 10
    return next(decade * factor for factor in (1, 2, 5) if decade * factor >= needed)


def tick_labels(labels: Sequence[int], first: float, last: float, step: int) -> list[tuple[float, str]]:
    """(position, text) at the centre of every `step`-th visible place; place i spans i..i+1.

    Labels without gaps are chosen by their own value (5, 10, 15), others by place.
    """
    begin, end = max(0, int(first)), min(len(labels), int(np.ceil(last)))
    shift = labels[0] if end and labels[-1] - labels[0] == len(labels) - 1 else 0
    return [(i + 0.5, str(labels[i])) for i in range(begin, end) if (i + shift) % step == 0]
