"""Which tensors of a model are only ever read by row: what a token needs of them is a few kilobytes.

They needn't be in memory: the rows of a pass can be read from the file. What is said here comes from names;
whether the graph really reads a table by row only is checked when the model is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import MIB
from engine.gguf.model_file import ModelFile, TensorInfo

# Every new token costs one more read (a tenth of a millisecond or two), whatever the size of its table, and a
# smaller table would free the memory of a few experts only.
LEAST_TABLE_BYTES = 16 * MIB
_EMBEDDING, _PER_LAYER, _OUTPUT = "token_embd.weight", "per_layer_token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of `n_rows` rows of `row_bytes`; a token reads at most `rows_per_token` of them."""

    tensor: TensorInfo
    n_rows: int
    rows_per_token: int

    @property
    def row_bytes(self) -> int:
        return self.tensor.size_bytes // self.n_rows

    def most_bytes_of(self, n_tokens: int, page_bytes: int) -> int:
        """Most bytes of whole pages that `n_tokens` touch."""
        pages_per_row = (self.row_bytes - 2) // page_bytes + 2  # a row may begin on a page's last byte
        all_pages = self.tensor.size_bytes // page_bytes + 2
        return page_bytes * min(n_tokens * self.rows_per_token * pages_per_row, all_pages)


def tables_read_by_row(model: ModelFile) -> tuple[RowTable, ...]:
    """Token embeddings that are not the output matrix too, and per-layer embeddings; of any size."""
    by_name = {tensor.name: tensor for tensor in model.tensors}
    names = [_PER_LAYER] if _OUTPUT not in by_name else [_EMBEDDING, _PER_LAYER]
    found = [by_name[name] for name in names if name in by_name]
    return tuple(_row_table(model, tensor) for tensor in found if len(tensor.shape) == 2)


def row_tables(
    model: ModelFile, has_experts: bool, kept: frozenset[str] = frozenset()
) -> tuple[RowTable, ...]:
    """The tables that should stay on disk; those named in `kept` should not.

    llama.cpp reads a model without experts by itself, unless that has per-layer embeddings: half of it.
    """
    return tuple(
        table
        for table in tables_read_by_row(model)
        if table.tensor.size_bytes >= LEAST_TABLE_BYTES
        and table.tensor.name not in kept
        and (has_experts or table.tensor.name == _PER_LAYER)
    )


def _row_table(model: ModelFile, tensor: TensorInfo) -> RowTable:
    rows_per_token = 1
    if tensor.name == _PER_LAYER:  # a row per head and length of the n-grams that end in the token
        lengths = model.number("ple.ngram_size") - 1
        rows_per_token = max(1, lengths * model.number("ple.heads_per_ngram"))
    return RowTable(tensor, tensor.shape[1], rows_per_token)
