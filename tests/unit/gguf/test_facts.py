"""Facts against formulas worked by hand from the metadata of known models."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.gguf.expert_layout import expert_layout
from engine.gguf.facts import ModelFacts, TypeShare, model_facts
from engine.gguf.kv_size import kv_bytes_per_token
from engine.gguf.model_file import MetadataValue, ModelFile, Shard, SkippedArray, TensorInfo
from engine.gguf.reader import read_model
from tests.support.gguf_files import MetadataIn, TensorsIn, write_gguf
from tests.support.models import tiny_model

_TENSORS: TensorsIn = {
    "token_embd.weight": ("F32", (64, 8)),
    "blk.0.ffn_norm.weight": ("F32", (64,)),
    "blk.1.ffn_gate_exps.weight": ("Q4_0", (64, 32, 4)),
    "blk.1.ffn_up_exps.weight": ("Q4_0", (64, 32, 4)),
    "blk.1.ffn_down_exps.weight": ("Q4_0", (32, 64, 4)),
    "blk.2.ffn_gate_exps.weight": ("Q4_0", (64, 32, 4)),
    "blk.2.ffn_up_exps.weight": ("Q4_0", (64, 32, 4)),
    "blk.2.ffn_down_exps.weight": ("Q8_0", (32, 64, 4)),
}
_METADATA: dict[str, MetadataIn] = {
    "general.name": "Small MoE", "general.file_type": 15, "qwen3moe.block_count": 3,
    "qwen3moe.expert_used_count": 2, "qwen3moe.context_length": 4096, "qwen3moe.embedding_length": 64,
    "qwen3moe.attention.head_count": 4, "qwen3moe.attention.head_count_kv": 2,
    "qwen3moe.attention.key_length": 32, "qwen3moe.attention.value_length": 16,
    "tokenizer.ggml.tokens": ["a", "b", "c"], "tokenizer.chat_template": "{{ messages }}",
}  # fmt: skip
_Q4_0_BYTES, _Q8_0_BYTES = 64 * 32 // 32 * 18, 64 * 32 // 32 * 34  # one projection of one expert


def _facts(tmp_path: Path, metadata: dict[str, MetadataIn], tensors: TensorsIn = _TENSORS) -> ModelFacts:
    (path,) = write_gguf(tmp_path / "file name.gguf", tensors, metadata, "qwen3moe")
    model = read_model(path)
    return model_facts(model, expert_layout(model))


def test_facts_of_a_small_model(tmp_path: Path) -> None:
    facts = _facts(tmp_path, _METADATA)
    layers = (3 * _Q4_0_BYTES, 2 * _Q4_0_BYTES + _Q8_0_BYTES)
    expected = ModelFacts(
        name="Small MoE",
        architecture="qwen3moe",
        file_type="Q4_K_M",
        file_bytes=(tmp_path / "file name.gguf").stat().st_size,
        n_shards=1,
        n_parameters=64 * 8 + 64 + 6 * 64 * 32 * 4,
        n_layer=3,
        moe_layers=(1, 2),
        n_expert=4,
        top_k=2,
        expert_bytes=layers[1],
        layer_expert_bytes=layers,
        all_experts_bytes=4 * sum(layers),
        dense_bytes=4 * (64 * 8 + 64),
        context_length=4096,
        n_embd=64,
        n_vocab=3,
        kv_bytes_per_token=3 * 2 * (32 + 16) * 2,
        types=(
            TypeShare("Q4_0", 5, 5 * 4 * _Q4_0_BYTES),
            TypeShare("Q8_0", 1, 4 * _Q8_0_BYTES),
            TypeShare("F32", 2, 4 * (64 * 8 + 64)),
        ),
        chat_template="{{ messages }}",
    )
    assert facts == expected


def test_what_the_file_does_not_say(tmp_path: Path) -> None:
    facts = _facts(tmp_path, {}, {"token_embd.weight": ("F32", (64, 8))})
    assert (facts.name, facts.file_type) == ("file name", "F32")
    assert (facts.chat_template, facts.context_length, facts.n_vocab) == (None, 0, 0)
    assert (facts.kv_bytes_per_token, facts.expert_bytes, facts.moe_layers) == (0, 0, ())


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "F32"), (2, "Q4_0"), (7, "Q8_0"), (38, "MXFP4_MOE"), (1024, "Q4_0"), (99, "Q4_0")],
)
def test_file_type_is_named_or_the_largest_type(tmp_path: Path, number: int, name: str) -> None:
    assert _facts(tmp_path, {**_METADATA, "general.file_type": number}).file_type == name


def test_shards_count_as_one_model(tmp_path: Path) -> None:
    path = tiny_model("sharded", tmp_path)
    model = read_model(path)
    facts = model_facts(model, expert_layout(model))
    assert facts.n_shards == 3
    assert facts.file_bytes == sum(p.stat().st_size for p in tmp_path.glob("*.gguf"))
    assert facts.moe_layers == (0, 1, 2, 3)


def test_name_of_a_nameless_split_model_drops_the_part_number(tmp_path: Path) -> None:
    files = write_gguf(tmp_path / "Nameless.gguf", tensors_per_shard=2)
    model = read_model(files[0])
    assert model_facts(model, expert_layout(model)).name == "Nameless"


def _model(architecture: str, tensors: tuple[str, ...] = (), **metadata: MetadataValue) -> ModelFile:
    """Metadata alone; a double underscore in a name stands for a dot."""
    keys: dict[str, MetadataValue] = {
        f"{architecture}.{key.replace('__', '.')}": value for key, value in metadata.items()
    }
    path = Path("model.gguf")
    infos = tuple(TensorInfo(name, "F32", (32,), 0, 0, 128) for name in tensors)
    return ModelFile(path, 3, (Shard(path, 0, 32),), {"general.architecture": architecture, **keys}, infos)


def test_vocabulary_size_comes_from_the_skipped_list_or_the_metadata() -> None:
    stated = _model("qwen3moe", vocab_size=77)
    assert model_facts(stated, expert_layout(stated)).n_vocab == 77
    listed = _model("qwen3moe", vocab_size=77)
    listed = ModelFile(
        listed.path,
        3,
        listed.shards,
        {**listed.metadata, "tokenizer.ggml.tokens": SkippedArray(151936, 8)},
        (),
    )
    assert model_facts(listed, expert_layout(listed)).n_vocab == 151936


# the comments give the model whose published shape is used
_KV = {
    # Qwen3-30B-A3B
    "grouped": (
        _model(
            "qwen3moe", block_count=48, embedding_length=2048, attention__head_count=32,
            attention__head_count_kv=4, attention__key_length=128, attention__value_length=128,
        ),
        48 * 4 * (128 + 128) * 2,
    ),
    # Mixtral 8x7B: head lengths follow from the embedding
    "derived": (
        _model("llama", block_count=32, embedding_length=4096, attention__head_count=32,
               attention__head_count_kv=8),
        32 * 8 * (128 + 128) * 2,
    ),
    "no head_count_kv": (
        _model("llama", block_count=2, embedding_length=64, attention__head_count=4), 2 * 4 * (16 + 16) * 2,
    ),
    # LFM2-8B-A1B's kind: 0 heads in layers that are convolutions
    "per layer": (
        _model("lfm2moe", block_count=4, embedding_length=2048, attention__head_count=32,
               attention__head_count_kv=(0, 0, 8, 4)),
        (8 + 4) * (64 + 64) * 2,
    ),
    # DeepSeek-V3: one row of 512 latent and 64 rotary elements, no values; the last layer predicts ahead
    "latent": (
        _model(
            "deepseek2", block_count=62, nextn_predict_layers=1, embedding_length=7168,
            attention__head_count=128, attention__head_count_kv=1, attention__kv_lora_rank=512,
            attention__key_length=576, attention__value_length=512, attention__key_length_mla=192,
            attention__value_length_mla=128,
        ),
        61 * 576 * 2,
    ),
    # DeepSeek-V2 files from before latent attention: full keys and values
    "latent, old file": (
        _model(
            "deepseek2", block_count=27, embedding_length=2048, attention__head_count=16,
            attention__head_count_kv=16, attention__kv_lora_rank=512, attention__key_length=192,
            attention__value_length=128,
        ),
        27 * 16 * (192 + 128) * 2,
    ),
    # DeepSeek-V3.2: an index key of 128 elements beside the latent row, not in the layer that predicts ahead
    "latent with index": (
        _model(
            "deepseek32", tuple(f"blk.{i}.indexer.attn_k.weight" for i in range(4)), block_count=4,
            nextn_predict_layers=1, embedding_length=7168, attention__head_count=128,
            attention__head_count_kv=1, attention__key_length=576, attention__value_length=512,
            attention__key_length_mla=192, attention__value_length_mla=128,
            attention__indexer__key_length=128,
        ),
        3 * (576 + 128) * 2,
    ),
    # Qwen3-Next-80B-A3B: every fourth of 48 layers attends
    "interval": (
        _model(
            "qwen3next", block_count=48, embedding_length=2048, attention__head_count=16,
            attention__head_count_kv=2, attention__key_length=256, attention__value_length=256,
        ),
        12 * 2 * (256 + 256) * 2,
    ),
    "stated interval": (
        _model("qwen35moe", block_count=6, full_attention_interval=3, attention__head_count=16,
               attention__head_count_kv=2, attention__key_length=256, attention__value_length=256),
        2 * 2 * (256 + 256) * 2,
    ),
    "flags of recurrent layers": (
        _model("qwen35moe", block_count=4, attention__recurrent_layers=(True, True, False, True),
               attention__head_count=16, attention__head_count_kv=2, attention__key_length=256,
               attention__value_length=256),
        1 * 2 * (256 + 256) * 2,
    ),
    # Gemma 4's kind: windowed layers have shorter heads, the last ones share
    "windowed": (
        _model("gemma4", block_count=5, embedding_length=2816, attention__head_count=16,
               attention__head_count_kv=(8, 8, 2, 8, 8), attention__key_length=512,
               attention__value_length=512, attention__key_length_swa=256, attention__value_length_swa=256,
               attention__sliding_window_pattern=(True, True, False, True, True),
               attention__shared_kv_layers=1),
        (3 * 8 * (256 + 256) + 2 * (512 + 512)) * 2,
    ),
    "absurd values": (
        _model("llama", block_count=2**63, embedding_length=float("inf"), attention__head_count=-4), 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", _KV)
def test_kv_bytes_per_token(kind: str) -> None:
    model, expected = _KV[kind]
    assert kv_bytes_per_token(model) == expected
