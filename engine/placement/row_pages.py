"""Which pages of the row tables are in memory: a bounded buffer that the pass in flight may exceed.

A pass whose rows need more than the buffer is not cut in two: that would sweep all experts twice, to save
a few megabytes for a moment. The buffer grows for that pass and shrinks at its end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def pages_of_rows(
    rows: NDArray[np.integer], lead_bytes: int, row_bytes: int, page_bytes: int
) -> NDArray[np.int64]:
    """Pages, ascending, that hold any byte of these rows of a table that begins `lead_bytes` into page 0."""
    first_bytes = lead_bytes + np.unique(rows).astype(np.int64) * row_bytes
    first, last = first_bytes // page_bytes, (first_bytes + row_bytes - 1) // page_bytes
    spans = first[:, None] + np.arange(int((last - first).max(initial=0)) + 1)
    return np.unique(spans[spans <= last[:, None]])


def runs(pages: Sequence[int]) -> list[tuple[int, int]]:
    """(first page, count) of each gapless stretch of ascending pages."""
    found: list[list[int]] = []
    for page in pages:
        if found and page == found[-1][0] + found[-1][1]:
            found[-1][1] += 1
        else:
            found.append([page, 1])
    return [(first, count) for first, count in found]


class RowPages:
    """Least recently used pages go first, never those of the pass in flight. Owned by the engine thread."""

    def __init__(self, capacity_pages: int) -> None:
        self.capacity_pages = capacity_pages
        self._resident: dict[int, None] = {}  # oldest use first
        self._of_pass: set[int] = set()

    def __len__(self) -> int:
        return len(self._resident)

    def prepare(self, pages: Sequence[int]) -> tuple[list[int], list[int]]:
        """(pages to bring, pages to give back first) so that the pass can use `pages`, which then stay."""
        missing = []
        for page in pages:
            if page in self._resident:
                del self._resident[page]
                self._resident[page] = None
            else:
                missing.append(page)
        self._of_pass.update(pages)
        return missing, self._evict(len(missing))

    def complete(self, pages: Sequence[int]) -> None:
        """These pages have come."""
        self._resident.update(dict.fromkeys(pages))

    def end_pass(self) -> list[int]:
        """Nothing is in use any more; returns the pages to give back."""
        self._of_pass.clear()
        return self._evict(0)

    def _evict(self, n_coming: int) -> list[int]:
        surplus = len(self._resident) + n_coming - self.capacity_pages
        victims: list[int] = []
        for page in self._resident:  # the pages of the pass are the youngest
            if len(victims) >= surplus or page in self._of_pass:
                break
            victims.append(page)
        for page in victims:
            del self._resident[page]
        return victims
