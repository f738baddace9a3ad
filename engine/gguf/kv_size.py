"""What one token of context takes in llama.cpp's key-value cache, from metadata alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.gguf.model_file import ModelFile

_ELEMENT_BYTES = 2  # the cache is kept in f16
_MOST_LAYERS = 512  # llama.cpp's limit
# every n-th layer attends, the others keep a state of fixed size (defaults where the file doesn't say)
_ATTENTION_INTERVALS = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4, "minimax-01": 8}
_INDEXER = re.compile(r"blk\.([0-9]+)\.indexer\.attn_k\.weight")


def kv_bytes_per_token(model: ModelFile) -> int:
    """Bytes of keys and values per token, over all layers that keep them.

    Counts as `llama_model::create_memory` does: latent attention (MLA) keeps keys only; layers for
    multi-token prediction, recurrent layers and layers that share another's cache keep nothing; sparse
    attention keeps an index key beside them. Sliding-window layers count in full, so with a context longer
    than their window the true cache is smaller.
    """
    heads = _Heads.of(model)
    window = _flags(model, "attention.sliding_window_pattern")
    elements = sum(heads.row(layer, window) for layer in _attending_layers(model))
    return (elements + _indexer_elements(model)) * _ELEMENT_BYTES


@dataclass(frozen=True, slots=True)
class _Heads:
    """Key and value lengths of a head, full and windowed; `counts` has one entry per layer or one for all."""

    counts: tuple[int, ...]
    full: int
    windowed: int

    @classmethod
    def of(cls, model: ModelFile) -> _Heads:
        n_head = model.number("attention.head_count")
        default = model.number("embedding_length") // n_head if n_head > 0 else 0
        key = model.number("attention.key_length", default)
        value = model.number("attention.value_length", default)
        is_latent = model.number("attention.key_length_mla") and model.number("attention.value_length_mla")
        key_swa = model.number("attention.key_length_swa", key)
        value_swa = model.number("attention.value_length_swa", value)
        counts = _per_layer(model, "attention.head_count_kv") or _per_layer(model, "attention.head_count")
        return cls(counts, key if is_latent else key + value, key_swa if is_latent else key_swa + value_swa)

    def row(self, layer: int, window: tuple[bool, ...]) -> int:
        """Elements that one token takes in `layer`."""
        length = self.windowed if layer < len(window) and window[layer] else self.full
        if len(self.counts) == 1:
            return self.counts[0] * length
        return self.counts[layer] * length if layer < len(self.counts) else 0


def _trunk_layers(model: ModelFile) -> int:
    layers = model.number("block_count") - model.number("nextn_predict_layers")
    return max(0, min(layers, _MOST_LAYERS))


def _attending_layers(model: ModelFile) -> list[int]:
    layers = range(_trunk_layers(model))
    recurrent = _flags(model, "attention.recurrent_layers")
    if recurrent:
        return [layer for layer in layers if layer >= len(recurrent) or not recurrent[layer]]
    if model.architecture in _ATTENTION_INTERVALS:
        interval = model.number("full_attention_interval", _ATTENTION_INTERVALS[model.architecture])
        return [layer for layer in layers if interval > 0 and (layer + 1) % interval == 0]
    return list(layers)[: max(0, len(layers) - model.number("attention.shared_kv_layers"))]


def _indexer_elements(model: ModelFile) -> int:
    layers = [int(match[1]) for tensor in model.tensors if (match := _INDEXER.fullmatch(tensor.name))]
    trunk = _trunk_layers(model)
    return sum(layer < trunk for layer in layers) * model.number("attention.indexer.key_length")


def _per_layer(model: ModelFile, key: str) -> tuple[int, ...]:
    value = model.metadata.get(f"{model.architecture}.{key}")
    if isinstance(value, tuple):
        return tuple(v if isinstance(v, int) else 0 for v in value)
    return (value,) if isinstance(value, int) else ()


def _flags(model: ModelFile, key: str) -> tuple[bool, ...]:
    """A flag per layer; empty where the file gives none (or gives a period instead)."""
    value = model.metadata.get(f"{model.architecture}.{key}")
    return tuple(bool(v) for v in value) if isinstance(value, tuple) else ()
