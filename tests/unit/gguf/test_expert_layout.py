"""Which tensors count as experts, for each way in which models store them."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf import GGUFReader

from engine.errors import UnsupportedModelError
from engine.gguf.expert_layout import ExpertLayout, expert_layout
from engine.gguf.reader import read_model
from tests.support.gguf_files import MetadataIn, TensorsIn, write_gguf
from tests.support.models import tiny_model

_QWEN3: TensorsIn = {
    "token_embd.weight": ("F32", (64, 8)),
    "blk.0.ffn_gate_inp.weight": ("F32", (64, 4)),
    "blk.0.ffn_gate_exps.weight": ("Q4_0", (64, 32, 4)),
    "blk.0.ffn_down_exps.weight": ("Q8_0", (32, 64, 4)),
    "blk.0.ffn_up_exps.weight": ("Q4_0", (64, 32, 4)),
}


def _layout(
    tmp_path: Path, tensors: TensorsIn, top_k: MetadataIn = 2, architecture: str = "qwen3moe"
) -> ExpertLayout:
    metadata: dict[str, MetadataIn] = {f"{architecture}.expert_used_count": top_k}
    (path,) = write_gguf(tmp_path / "model.gguf", tensors, metadata, architecture)
    return expert_layout(read_model(path))


def _refused(tmp_path: Path, tensors: TensorsIn, top_k: MetadataIn = 2) -> UnsupportedModelError:
    with pytest.raises(UnsupportedModelError) as fault:
        _layout(tmp_path, tensors, top_k)
    assert "qwen3moe" in fault.value.fault
    assert fault.value.next_step
    return fault.value


def test_separate_projections(tmp_path: Path) -> None:
    layout = _layout(tmp_path, _QWEN3)
    (layer,) = layout.layers
    assert (layout.top_k, layer.layer, layer.n_expert) == (2, 0, 4)
    assert [(t.projection, t.kind) for t in layer.weights] == [
        ("gate", "weight"), ("up", "weight"), ("down", "weight"),
    ]  # fmt: skip
    # Q4_0: 18 bytes for 32 elements; Q8_0: 34
    assert [t.slice_bytes for t in layer.weights] == [64 * 32 // 32 * 18] * 2 + [32 * 64 // 32 * 34]
    assert layer.expert_bytes == 64 * (18 + 18 + 34)
    assert [t.name for t in layout.dense] == ["token_embd.weight", "blk.0.ffn_gate_inp.weight"]
    assert layout.dense_bytes == 4 * 64 * (8 + 4)


def test_slices_are_the_bytes_of_each_expert(tmp_path: Path) -> None:
    (path,) = write_gguf(tmp_path / "model.gguf", _QWEN3, {"qwen3moe.expert_used_count": 2}, "qwen3moe")
    content = path.read_bytes()
    stored = {t.name: t.data for t in GGUFReader(path).tensors}  # first axis: the expert
    for expert_tensor in expert_layout(read_model(path)).layers[0].weights:
        for expert in range(4):
            begin = expert_tensor.tensor.offset_bytes + expert * expert_tensor.slice_bytes
            expected = stored[expert_tensor.tensor.name][expert].tobytes()
            assert content[begin : begin + expert_tensor.slice_bytes] == expected


def test_shared_experts_and_router_are_dense(tmp_path: Path) -> None:
    dense: TensorsIn = {
        "blk.0.ffn_gate_shexp.weight": ("Q4_0", (64, 32)),
        "blk.0.ffn_up_shexp.weight": ("Q4_0", (64, 32)),
        "blk.0.ffn_down_shexp.weight": ("Q4_0", (32, 64)),
        "blk.0.ffn_gate_inp_shexp.weight": ("F32", (64,)),
        "blk.0.exp_probs_b.bias": ("F32", (4,)),
        "blk.0.ffn_norm_exps.weight": ("F32", (64,)),
        "blk.1.ffn_gate.weight": ("Q4_0", (64, 32)),
    }
    layout = _layout(tmp_path, {**_QWEN3, **dense})
    assert set(dense) <= {t.name for t in layout.dense}
    assert [layer.layer for layer in layout.layers] == [0]


def test_merged_gate_and_up(tmp_path: Path) -> None:
    layout = _layout(
        tmp_path,
        {
            "blk.3.ffn_gate_up_exps.weight": ("Q4_0", (64, 64, 4)),
            "blk.3.ffn_down_exps.weight": ("Q4_0", (32, 64, 4)),
        },
    )
    (layer,) = layout.layers
    assert layer.layer == 3
    assert [t.projection for t in layer.weights] == ["gate_up", "down"]
    assert layer.expert_bytes == (64 * 64 + 32 * 64) // 32 * 18


def test_experts_without_a_gate(tmp_path: Path) -> None:
    tensors = {name: value for name, value in _QWEN3.items() if "gate_exps" not in name}
    (layer,) = _layout(tmp_path, tensors).layers
    assert [t.projection for t in layer.weights] == ["up", "down"]


def test_biases_are_expert_tensors_too(tmp_path: Path) -> None:
    biases: TensorsIn = {
        "blk.0.ffn_up_exps.bias": ("F32", (32, 4)),
        "blk.0.ffn_down_exps.bias": ("F32", (64, 4)),
        "blk.0.ffn_gate_exps.bias": ("F32", (32, 4)),
    }
    layout = _layout(tmp_path, {**_QWEN3, **biases})
    (layer,) = layout.layers
    assert [(t.projection, t.slice_bytes) for t in layer.biases] == [
        ("gate", 128),
        ("up", 128),
        ("down", 256),
    ]
    assert not any(t.name.endswith("exps.bias") for t in layout.dense)
    assert layer.expert_bytes == _layout(tmp_path, _QWEN3).layers[0].expert_bytes
    assert layer.class_key != _layout(tmp_path, _QWEN3).layers[0].class_key


def test_mixed_types_give_different_classes(tmp_path: Path) -> None:
    def layer(number: int, down_type: str) -> TensorsIn:
        names = {
            name.replace("blk.0", f"blk.{number}"): value for name, value in _QWEN3.items() if "exps" in name
        }
        return {**names, f"blk.{number}.ffn_down_exps.weight": (down_type, (32, 64, 4))}

    layout = _layout(tmp_path, {**layer(0, "Q8_0"), **layer(1, "Q4_0"), **layer(2, "Q8_0")})
    keys = [entry.class_key for entry in layout.layers]
    assert keys[0] == keys[2] != keys[1]


def test_dense_model_has_no_experts(tmp_path: Path) -> None:
    model = read_model(tiny_model("llama", tmp_path))
    layout = expert_layout(model)
    assert (layout.layers, layout.top_k) == ((), 0)
    assert layout.dense == model.tensors


def test_experts_used_may_differ_by_layer(tmp_path: Path) -> None:
    assert _layout(tmp_path, _QWEN3, [1, 3, 2]).top_k == 3


def test_scales_are_refused(tmp_path: Path) -> None:
    fault = _refused(tmp_path, {**_QWEN3, "blk.0.ffn_up_exps.scale": ("F32", (4,))})
    assert "scale" in fault.fault


def test_adjugate_experts_are_refused(tmp_path: Path) -> None:
    fault = _refused(tmp_path, {**_QWEN3, "blk.0.ffn_up_chexps.weight": ("Q4_0", (64, 32, 2))})
    assert "chexps" in fault.fault


def test_one_tensor_per_expert_is_refused(tmp_path: Path) -> None:
    fault = _refused(tmp_path, {"blk.0.ffn_gate.0.weight": ("Q4_0", (64, 32))})
    assert "blk.0.ffn_gate.0.weight" in fault.fault


@pytest.mark.parametrize(
    ("name", "kind_and_shape", "said"),
    [
        ("blk.0.ffn_up_exps.weight", ("Q4_0", (64, 32, 3)), r"[3, 4]"),
        ("blk.0.ffn_up_exps.weight", ("Q4_0", (64, 32)), "2 dimensions"),
        ("blk.0.ffn_up_exps.bias", ("F32", (4,)), "1 dimensions"),
    ],
)
def test_inconsistent_layer_is_refused(
    tmp_path: Path, name: str, kind_and_shape: tuple[str, tuple[int, ...]], said: str
) -> None:
    fault = _refused(tmp_path, {**_QWEN3, name: kind_and_shape})
    assert "Layer 0" in fault.fault
    assert said in fault.fault


@pytest.mark.parametrize("lost", ["up", "down"])
def test_missing_projection_is_refused(tmp_path: Path, lost: str) -> None:
    tensors = {name: value for name, value in _QWEN3.items() if f"_{lost}_" not in name}
    assert "lack" in _refused(tmp_path, tensors).fault


@pytest.mark.parametrize("top_k", [0, 5])
def test_impossible_number_of_used_experts_is_refused(tmp_path: Path, top_k: int) -> None:
    assert f"uses {top_k} experts, but there are 4" in _refused(tmp_path, _QWEN3, top_k).fault
