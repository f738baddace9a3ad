"""Row tables while a model is loaded: their memory, the verdict of the probe, words for the user."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from engine.config import format_size
from engine.gguf.row_tables import RowTable
from engine.native.memory import PAGE
from engine.native.model import NativeModel
from engine.offload.expert_pipeline import ExpertPipeline
from engine.offload.reader_pool import ReaderPool
from engine.offload.row_probe import RowProbe
from engine.offload.row_tables import BUFFER_BYTES, RowTables


class TablesMustBeRead(Exception):  # noqa: N818 - no fault: the load begins again, with these in memory
    """The graph does more with the tables of these names than read rows by token."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names


def buffer_bytes(tables: Sequence[RowTable], n_tokens: int) -> int:
    """Most memory that rows take while a pass of `n_tokens` runs."""
    most = sum(table.most_bytes_of(n_tokens, PAGE) for table in tables)
    return max(BUFFER_BYTES, most) if tables else 0


def open_row_tables(
    tables: Sequence[RowTable], model: NativeModel, readers: ReaderPool, stack: ExitStack
) -> tuple[RowTables, RowProbe] | None:
    """Memory for the tables and the probe of their use, or None if there are no tables.

    `stack` closes the readers before the memory.
    """
    if not tables:
        return None
    rows = RowTables(tables, readers)
    rows.attach(model.rows.tensors)  # none may ever be read at an address that holds nothing
    stack.callback(rows.close)
    stack.callback(readers.close)
    return rows, RowProbe([table.tensor.name for table in tables])


def accept(rows: RowTables, probe: RowProbe, pipeline: ExpertPipeline) -> None:
    """After the probe: read rows from the file. Raises TablesMustBeRead if the graph forbids it."""
    if probe.misused:
        raise TablesMustBeRead(frozenset(probe.misused))
    rows.attach(probe.tables)
    rows.operation = probe.operation
    pipeline.read_rows_of(rows)


def notes(tables: Sequence[RowTable], kept: frozenset[str]) -> tuple[str, ...]:
    """Sentences for the user."""
    sentences = []
    if tables:
        size_bytes = sum(table.tensor.size_bytes for table in tables)
        sentences.append(
            f"{format_size(size_bytes)} of tables stay on the drive: a token needs a row of them only."
        )
    if kept:
        sentences.append(
            f"{', '.join(sorted(kept))}: read whole, because this model uses more than rows of it."
        )
    return tuple(sentences)
