"""Which tensors count as row tables, by name, size and architecture."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import MIB
from engine.gguf import row_tables as module
from engine.gguf.model_file import ModelFile
from engine.gguf.reader import read_model
from engine.gguf.row_tables import row_tables, tables_read_by_row
from tests.support.gguf_files import MetadataIn, TensorsIn, write_gguf

EMBEDDING: TensorsIn = {"token_embd.weight": ("F32", (256, 100))}
OUTPUT: TensorsIn = {"output.weight": ("F32", (256, 100))}
PER_LAYER: TensorsIn = {"per_layer_token_embd.weight": ("Q8_0", (512, 100))}


def _model(
    directory: Path, tensors: TensorsIn, architecture: str = "gemma4", **metadata: MetadataIn
) -> ModelFile:
    keys = {f"{architecture}.{key.replace('__', '.')}": value for key, value in metadata.items()}
    return read_model(write_gguf(directory / "m.gguf", tensors, keys, architecture)[0])


def _names(model: ModelFile) -> list[str]:
    return [table.tensor.name for table in tables_read_by_row(model)]


def test_an_embedding_that_is_the_output_too_is_no_row_table(tmp_path: Path) -> None:
    assert _names(_model(tmp_path, EMBEDDING)) == []
    assert _names(_model(tmp_path, {**EMBEDDING, **OUTPUT})) == ["token_embd.weight"]
    assert _names(_model(tmp_path, {**EMBEDDING, **PER_LAYER})) == ["per_layer_token_embd.weight"]


def test_rows_are_measured(tmp_path: Path) -> None:
    (table,) = tables_read_by_row(_model(tmp_path, {**EMBEDDING, **PER_LAYER}))
    assert (table.n_rows, table.row_bytes, table.rows_per_token) == (100, 512 // 32 * 34, 1)
    # 544 bytes lie in at most two pages; the whole table of 54,400 bytes in at most 15
    assert table.most_bytes_of(3, 4096) == 3 * 2 * 4096
    assert table.most_bytes_of(1000, 4096) == 15 * 4096


def test_hashed_n_grams_read_a_row_per_head(tmp_path: Path) -> None:
    model = _model(
        tmp_path, {**EMBEDDING, **PER_LAYER}, "qwen4exp", ple__ngram_size=3, ple__heads_per_ngram=8
    )
    assert [table.rows_per_token for table in tables_read_by_row(model)] == [2 * 8]


def test_small_tables_and_unwanted_ones_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _model(tmp_path, {**EMBEDDING, **OUTPUT, **PER_LAYER})
    assert module.LEAST_TABLE_BYTES >= MIB
    assert row_tables(model, True) == ()
    monkeypatch.setattr(module, "LEAST_TABLE_BYTES", 60_000)
    assert [t.tensor.name for t in row_tables(model, True)] == ["token_embd.weight"]  # 102,400 bytes
    assert row_tables(model, True, frozenset(["token_embd.weight"])) == ()


@pytest.mark.parametrize("architecture", ["gemma4", "gemma3n"])
def test_without_experts_only_per_layer_embeddings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    monkeypatch.setattr(module, "LEAST_TABLE_BYTES", 1)
    model = _model(tmp_path, {**EMBEDDING, **OUTPUT, **PER_LAYER}, architecture)
    assert [t.tensor.name for t in row_tables(model, False)] == ["per_layer_token_embd.weight"]
    assert len(row_tables(model, True)) == 2
