"""What a person wants to know about a model before loading it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from gguf import LlamaFileType

from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.kv_size import kv_bytes_per_token
from engine.gguf.model_file import ModelFile, SkippedArray
from engine.gguf.shard_names import model_stem


@dataclass(frozen=True, slots=True)
class TypeShare:
    """How much of a model is stored in one tensor type."""

    type_name: str
    tensors: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Sizes in bytes; what the file doesn't say is 0, "" or None.

    `expert_bytes` is one expert of the layer with the largest; `layer_expert_bytes` one expert of each of
    `moe_layers`. `n_layer` counts layers for multi-token prediction too, which are never run.
    `context_length` is what the model was trained on. `types` are sorted by bytes, largest first.
    """

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
    types: tuple[TypeShare, ...]
    chat_template: str | None


def model_facts(model: ModelFile, layout: ExpertLayout) -> ModelFacts:
    """Facts from metadata and tensor table alone."""
    layer_expert_bytes = tuple(layer.expert_bytes for layer in layout.layers)
    types = _types(model)
    return ModelFacts(
        name=model.text("general.name") or model_stem(model.path),
        architecture=model.architecture,
        file_type=_file_type(model) or (types[0].type_name if types else ""),
        file_bytes=model.size_bytes,
        n_shards=len(model.shards),
        n_parameters=sum(prod(tensor.shape) for tensor in model.tensors),
        n_layer=model.number("block_count"),
        moe_layers=tuple(layer.layer for layer in layout.layers),
        n_expert=max((layer.n_expert for layer in layout.layers), default=0),
        top_k=layout.top_k,
        expert_bytes=max(layer_expert_bytes, default=0),
        layer_expert_bytes=layer_expert_bytes,
        all_experts_bytes=sum(layer.n_expert * layer.expert_bytes for layer in layout.layers),
        dense_bytes=layout.dense_bytes,
        context_length=model.number("context_length"),
        n_embd=model.number("embedding_length"),
        n_vocab=_vocabulary_size(model),
        kv_bytes_per_token=kv_bytes_per_token(model),
        types=types,
        chat_template=model.text("tokenizer.chat_template") or None,
    )


def _file_type(model: ModelFile) -> str:
    """ "Q4_K_M" and the like; "" where the file doesn't say or says something newer than we know."""
    value = model.metadata.get("general.file_type")
    names = {int(kind): kind.name for kind in LlamaFileType if kind is not LlamaFileType.GUESSED}
    name = names.get(value, "") if isinstance(value, int) else ""
    return name.removeprefix("MOSTLY_").removeprefix("ALL_")


def _vocabulary_size(model: ModelFile) -> int:
    tokens = model.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, SkippedArray):
        return tokens.length
    return len(tokens) if isinstance(tokens, tuple) else model.number("vocab_size")


def _types(model: ModelFile) -> tuple[TypeShare, ...]:
    counts, sizes = Counter[str](), Counter[str]()
    for tensor in model.tensors:
        counts[tensor.type_name] += 1
        sizes[tensor.type_name] += tensor.size_bytes
    return tuple(TypeShare(name, counts[name], size) for name, size in sizes.most_common())
