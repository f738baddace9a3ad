"""Which tensors of a model are routed experts, and where each expert's bytes lie."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.errors import UnsupportedModelError
from engine.gguf.model_file import ModelFile, TensorInfo

# Shared experts ("_shexp") are dense; adjugate experts ("_chexps") are routed, but by ids of their own.
_EXPERT = re.compile(r"^blk\.(\d+)\.ffn_(gate_up|gate|up|down)_exps\.(weight|bias|scale)$")
_PROJECTIONS = ("gate", "up", "gate_up", "down")


@dataclass(frozen=True, slots=True)
class ExpertTensor:
    """One projection of all experts of a layer; expert e's bytes start at offset + e * slice_bytes."""

    layer: int
    projection: str
    kind: str
    n_expert: int
    slice_bytes: int
    tensor: TensorInfo


@dataclass(frozen=True, slots=True)
class LayerExperts:
    """The routed experts of one layer: weights in the order gate, up, gate_up, down, then biases."""

    layer: int
    n_expert: int
    weights: tuple[ExpertTensor, ...]
    biases: tuple[ExpertTensor, ...]

    @property
    def expert_bytes(self) -> int:
        """Bytes of one expert's weights (biases stay with the dense weights)."""
        return sum(t.slice_bytes for t in self.weights)

    @property
    def class_key(self) -> tuple[object, ...]:
        """Layers with equal keys can share slots: same projections, types, shapes and biases."""
        weights = tuple((t.projection, t.tensor.type_name, t.tensor.shape) for t in self.weights)
        return self.n_expert, weights, tuple((t.projection, t.tensor.shape) for t in self.biases)


@dataclass(frozen=True, slots=True)
class ExpertLayout:
    """All routed experts and everything else; `layers` is empty for a dense model."""

    top_k: int
    layers: tuple[LayerExperts, ...]
    dense: tuple[TensorInfo, ...]

    @property
    def dense_bytes(self) -> int:
        return sum(t.size_bytes for t in self.dense)


def expert_layout(model: ModelFile) -> ExpertLayout:
    """Sort the tensors of `model`; raises UnsupportedModelError where ids index tensors we can't move."""
    by_layer: dict[int, list[ExpertTensor]] = {}
    dense: list[TensorInfo] = []
    for tensor in model.tensors:
        match = _EXPERT.match(tensor.name)
        if match is None:
            dense.append(tensor)
            continue
        layer, projection, kind = int(match[1]), match[2], match[3]
        _refuse_unmovable(model, kind)
        n_expert = tensor.shape[-1]
        by_layer.setdefault(layer, []).append(
            ExpertTensor(layer, projection, kind, n_expert, tensor.size_bytes // n_expert, tensor)
        )
    _refuse_adjugate_experts(model, dense)
    layers = tuple(_layer_experts(model, layer, by_layer[layer]) for layer in sorted(by_layer))
    return ExpertLayout(model.number("expert_used_count"), layers, tuple(dense))


def _refuse_unmovable(model: ModelFile, kind: str) -> None:
    if kind == "scale":
        raise UnsupportedModelError(
            f"“{model.architecture}” with per-expert scale tensors can't run from expert slots.",
            "llama.cpp fixes their shape when it builds the graph. Use a file without *_exps.scale tensors.",
        )


def _refuse_adjugate_experts(model: ModelFile, dense: list[TensorInfo]) -> None:
    if any("_chexps." in tensor.name for tensor in dense):
        raise UnsupportedModelError(
            f"“{model.architecture}” routes a second group of experts (chexps) that slots don't cover.",
            "Run it with stock llama.cpp, or choose another model.",
        )


def _layer_experts(model: ModelFile, layer: int, tensors: list[ExpertTensor]) -> LayerExperts:
    tensors.sort(key=lambda t: _PROJECTIONS.index(t.projection))
    counts = {t.n_expert for t in tensors}
    if len(counts) != 1:
        raise UnsupportedModelError(
            f"Layer {layer} of this “{model.architecture}” model has expert tensors of different counts: "
            f"{sorted(counts)}.",
            "The file is inconsistent; get it again or choose another quantisation.",
        )
    weights = tuple(t for t in tensors if t.kind == "weight")
    biases = tuple(t for t in tensors if t.kind == "bias")
    return LayerExperts(layer, counts.pop(), weights, biases)
