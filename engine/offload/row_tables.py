"""Tables that are only read by row: the rows of a pass come from the file, through a bounded buffer.

A table is address space in which each page stands for a page of the file; the pages of the rows that a pass
reads are there, nearly all others are not. Runs inside ggml's eval callback on the engine thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.gguf.row_tables import RowTable
from engine.native import tensor
from engine.native.memory import PAGE, PagedMemory
from engine.offload.read_job import ReadJob, ReadPart, ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.placement.row_pages import RowPages, pages_of_rows, runs

BUFFER_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class _Place:
    """A table from `first_page` of the memory on, congruent with its file."""

    table: RowTable
    first_page: int

    @property
    def lead_bytes(self) -> int:
        return self.table.tensor.offset_bytes % PAGE

    @property
    def n_pages(self) -> int:
        return -(-(self.lead_bytes + self.table.tensor.size_bytes) // PAGE)

    def pages(self, rows: NDArray[np.int32]) -> list[int]:
        """Pages of the memory that hold these rows, ascending."""
        of_table = pages_of_rows(rows, self.lead_bytes, self.table.row_bytes, PAGE)
        pages: list[int] = (of_table + self.first_page).tolist()
        return pages


class RowTables:
    """The tables of one model and their buffer; nodes of ggml's `operation` must be shown to `bring`."""

    def __init__(self, tables: Sequence[RowTable], readers: ReaderPool) -> None:
        self.operation = -1
        self._readers = readers
        self._places: list[_Place] = []
        n_pages = 0
        for table in tables:
            place = _Place(table, n_pages)
            self._places.append(place)
            n_pages += place.n_pages
        self._pages = RowPages(BUFFER_BYTES // PAGE)
        self._memory = PagedMemory(n_pages * PAGE)
        self._by_tensor: dict[int, _Place] = {}

    @property
    def absent_bytes(self) -> int:
        """Address space of the tables that takes no memory between passes."""
        return max(0, self._memory.size_bytes - BUFFER_BYTES)

    def attach(self, addresses: dict[str, int]) -> None:
        """Let these tensors see the tables' memory."""
        for place in self._places:
            address = addresses.get(place.table.tensor.name)
            if address is not None:  # llama.cpp may have no use for a table
                tensor.point_at(address, self._memory.address + place.first_page * PAGE + place.lead_bytes)
                self._by_tensor[address] = place

    def bring(self, node: int, check: Callable[[], None]) -> int:
        """Before this node is computed: read the rows it gathers; returns nanoseconds spent waiting.

        They stay until `end_pass`. Raises DiskReadError, or what `check` raises; then no read is in flight.
        """
        place = self._by_tensor.get(tensor.source_of(node, 0))
        if place is None:
            return 0
        rows = tensor.int32_rows(tensor.source_of(node, 1)).ravel()
        missing, surplus = self._pages.prepare(place.pages(rows))
        self._give_back(surplus)
        if not missing:
            return 0
        started_ns = time.perf_counter_ns()
        try:
            self._read(place, missing, check)
        except BaseException:
            self._give_back(missing)
            raise
        self._pages.complete(missing)
        return time.perf_counter_ns() - started_ns

    def end_pass(self) -> None:
        """The rows of the pass are not needed any more; what exceeds the buffer goes."""
        self._give_back(self._pages.end_pass())

    def close(self) -> None:
        """Free the memory; idempotent. No read may be in flight."""
        self._memory.close()

    def _read(self, place: _Place, pages: list[int], check: Callable[[], None]) -> None:
        parts = tuple(self._part(place, first, count) for first, count in runs(pages))
        job = ReadJob((0, 0), parts, ReadReason.ROW)
        self._readers.submit([job])
        try:
            self._readers.wait([job], check)
        except BaseException:
            self._readers.drop_queued()
            raise
        if job.error is not None:
            raise job.error

    def _part(self, place: _Place, first: int, count: int) -> ReadPart:
        """Whole pages of the file, up to the table's end."""
        info = place.table.tensor
        start = (first - place.first_page) * PAGE
        size = min(count * PAGE, place.lead_bytes + info.size_bytes - start)
        at = first * PAGE
        return ReadPart(
            info.shard,
            info.offset_bytes - place.lead_bytes + start,
            size,
            self._memory.address + at,
            self._memory.view[at : at + count * PAGE],
            is_congruent=True,
        )

    def _give_back(self, pages: Sequence[int]) -> None:
        for first, count in runs(sorted(pages)):
            self._memory.give_back(first * PAGE, count * PAGE)
