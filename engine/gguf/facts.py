"""What a person wants to know about a model before loading it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gguf import LlamaFileType

from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.model_file import ModelFile, SkippedArray

_KV_ELEMENT_BYTES = 2  # the cache is kept in f16


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Sizes in bytes; `expert_bytes` is one expert of the layer with the largest."""

    name: str
    architecture: str
    file_type: str
    file_bytes: int
    n_shards: int
    n_parameters: int
    n_layer: int
    moe_layers: tuple[int, ...]
    n_expert: int
    top_k: int
    expert_bytes: int
    layer_expert_bytes: tuple[int, ...]
    all_experts_bytes: int
    dense_bytes: int
    context_length: int
    n_embd: int
    n_vocab: int
    kv_bytes_per_token: int
    types: tuple[tuple[str, int, int], ...]
    chat_template: str | None


def model_facts(model: ModelFile, layout: ExpertLayout) -> ModelFacts:
    """Facts from metadata and tensor table alone."""
    expert_sizes = tuple(layer.expert_bytes for layer in layout.layers)
    return ModelFacts(
        name=model.text("general.name") or model.path.stem,
        architecture=model.architecture,
        file_type=_file_type(model),
        file_bytes=model.size_bytes,
        n_shards=len(model.shards),
        n_parameters=sum(_elements(t.shape) for t in model.tensors),
        n_layer=model.number("block_count"),
        moe_layers=tuple(layer.layer for layer in layout.layers),
        n_expert=max((layer.n_expert for layer in layout.layers), default=0),
        top_k=layout.top_k,
        expert_bytes=max(expert_sizes, default=0),
        layer_expert_bytes=expert_sizes,
        all_experts_bytes=sum(layer.n_expert * layer.expert_bytes for layer in layout.layers),
        dense_bytes=layout.dense_bytes,
        context_length=model.number("context_length"),
        n_embd=model.number("embedding_length"),
        n_vocab=_vocabulary_size(model),
        kv_bytes_per_token=_kv_bytes_per_token(model),
        types=_types(model),
        chat_template=model.text("tokenizer.chat_template") or None,
    )


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _file_type(model: ModelFile) -> str:
    value = model.metadata.get("general.file_type")
    try:
        return LlamaFileType(value).name.removeprefix("MOSTLY_") if isinstance(value, int) else ""
    except ValueError:
        return ""


def _vocabulary_size(model: ModelFile) -> int:
    tokens = model.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, SkippedArray):
        return tokens.length
    return len(tokens) if isinstance(tokens, tuple) else model.number("vocab_size")


def _kv_bytes_per_token(model: ModelFile) -> int:
    """Keys and values of all layers. Latent attention (MLA) keeps one compressed row and one rotary key."""
    n_layer = model.number("block_count")
    latent = model.number("attention.kv_lora_rank")
    if latent and model.number("attention.key_length_mla"):
        return n_layer * model.number("attention.key_length", latent) * _KV_ELEMENT_BYTES
    n_head = max(1, model.number("attention.head_count"))
    head = model.number("embedding_length") // n_head
    key = model.number("attention.key_length", head)
    value = model.number("attention.value_length", head)
    heads = _per_layer(model, "attention.head_count_kv", n_layer, n_head)
    return sum(heads) * (key + value) * _KV_ELEMENT_BYTES


def _per_layer(model: ModelFile, key: str, n_layer: int, default: int) -> list[int]:
    value = model.metadata.get(f"{model.architecture}.{key}", default)
    if isinstance(value, tuple):
        return [int(v) for v in value][:n_layer]
    return [int(value) if isinstance(value, (int, float)) else default] * n_layer


def _types(model: ModelFile) -> tuple[tuple[str, int, int], ...]:
    """(type, tensors, bytes), largest first."""
    counts, sizes = Counter[str](), Counter[str]()
    for tensor in model.tensors:
        counts[tensor.type_name] += 1
        sizes[tensor.type_name] += tensor.size_bytes
    return tuple((name, counts[name], size) for name, size in sizes.most_common())
