"""Which tensors are routed experts: shared experts are not, unmovable ones are refused by name."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest

from engine.errors import UnsupportedModelError
from engine.gguf.expert_layout import expert_layout
from engine.gguf.facts import model_facts
from engine.gguf.model_file import MetadataValue, ModelFile, Shard, SkippedArray, TensorInfo

Entry = tuple[str, str, tuple[int, ...], int]


def model(*tensors: Entry, architecture: str = "qwen3moe", **metadata: MetadataValue) -> ModelFile:
    infos, offset = [], 4096
    for name, kind, shape, size in tensors:
        infos.append(TensorInfo(name, kind, shape, 0, offset, size))
        offset += size
    keys = {f"{architecture}.{key.replace('__', '.')}": value for key, value in metadata.items()}
    table: dict[str, MetadataValue] = {"general.architecture": architecture, **keys}
    return ModelFile(
        Path("m.gguf"), 3, (Shard(Path("m.gguf"), offset, 32),), MappingProxyType(table), tuple(infos)
    )


def experts(layer: int, kind: str = "Q4_0", n_expert: int = 8) -> list[Entry]:
    size = n_expert * 64 * 32 // 32 * 18
    return [
        (f"blk.{layer}.ffn_{p}_exps.weight", kind, (64, 32, n_expert), size) for p in ("down", "up", "gate")
    ]


def test_projections_in_order_with_their_slices() -> None:
    layout = expert_layout(model(*experts(3), expert_used_count=2))
    (layer,) = layout.layers
    assert [t.projection for t in layer.weights] == ["gate", "up", "down"]
    assert {t.slice_bytes for t in layer.weights} == {64 * 32 // 32 * 18}
    assert (layer.layer, layer.n_expert, layout.top_k) == (3, 8, 2)


def test_shared_experts_and_router_are_dense() -> None:
    dense = [
        ("blk.0.ffn_up_shexp.weight", "Q4_0", (64, 32), 1152),
        ("blk.0.ffn_gate_inp.weight", "F32", (64, 8), 2048),
        ("token_embd.weight", "Q4_0", (64, 100), 3600),
    ]
    layout = expert_layout(model(*experts(0), *dense))
    assert [t.name for t in layout.dense] == [name for name, *_ in dense]
    assert layout.dense_bytes == 1152 + 2048 + 3600


def test_merged_projection_and_biases() -> None:
    entries = [
        ("blk.0.ffn_gate_up_exps.weight", "Q8_0", (32, 64, 4), 4 * 2176),
        ("blk.0.ffn_down_exps.weight", "Q8_0", (32, 32, 4), 4 * 1088),
        ("blk.0.ffn_down_exps.bias", "F32", (32, 4), 512),
    ]
    (layer,) = expert_layout(model(*entries)).layers
    assert [t.projection for t in layer.weights] == ["gate_up", "down"]
    assert [(t.projection, t.slice_bytes) for t in layer.biases] == [("down", 128)]
    assert layer.expert_bytes == 2176 + 1088


def test_layers_of_other_types_are_another_class() -> None:
    layout = expert_layout(model(*experts(0), *experts(1), *experts(2, "Q5_0")))
    keys = [layer.class_key for layer in layout.layers]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("extra", "words"),
    [("blk.0.ffn_up_exps.scale", "scale tensors"), ("blk.0.ffn_up_chexps.weight", "chexps")],
)
def test_what_slots_cannot_cover_is_refused_by_name(extra: str, words: str) -> None:
    with pytest.raises(UnsupportedModelError, match=words) as caught:
        expert_layout(model(*experts(0), (extra, "F32", (8,), 32), architecture="strangemoe"))
    assert "strangemoe" in caught.value.fault


def test_inconsistent_expert_counts_are_refused() -> None:
    broken = [*experts(0)[:2], ("blk.0.ffn_gate_exps.weight", "Q4_0", (64, 32, 4), 4608)]
    with pytest.raises(UnsupportedModelError, match=r"\[4, 8\]"):
        expert_layout(model(*broken))


def test_facts_by_hand() -> None:
    file = model(
        *experts(0), *experts(1), ("token_embd.weight", "Q4_0", (64, 100), 3600),
        block_count=2, embedding_length=64, context_length=512, expert_used_count=2,
        attention__head_count=4, attention__head_count_kv=(2, 1), attention__key_length=16,
        attention__value_length=24,
    )  # fmt: skip
    file = ModelFile(
        file.path, 3, file.shards,
        MappingProxyType(
            {**file.metadata, "tokenizer.ggml.tokens": SkippedArray(1000, 8), "general.file_type": 2}
        ),
        file.tensors,
    )  # fmt: skip
    facts = model_facts(file, expert_layout(file))
    assert facts.kv_bytes_per_token == (2 + 1) * (16 + 24) * 2
    assert facts.expert_bytes == 3 * 1152
    assert facts.all_experts_bytes == 2 * 8 * 3 * 1152
    assert facts.dense_bytes == 3600
    assert (facts.n_layer, facts.n_expert, facts.top_k, facts.n_vocab) == (2, 8, 2, 1000)
    assert facts.n_parameters == 6 * 64 * 32 * 8 + 6400
    assert facts.file_type == "Q4_0"
    assert facts.types == (("Q4_0", 7, 2 * 8 * 3 * 1152 + 3600),)


def test_latent_attention_keeps_one_row_per_layer() -> None:
    file = model(
        architecture="deepseek2", block_count=3, attention__kv_lora_rank=512, attention__key_length=576,
        attention__key_length_mla=192, attention__value_length_mla=128, attention__head_count=16,
        attention__head_count_kv=1,
    )  # fmt: skip
    assert model_facts(file, expert_layout(file)).kv_bytes_per_token == 3 * 576 * 2
