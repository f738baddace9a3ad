"""Which tensors of a model are routed experts, and where each expert's bytes lie.

llama.cpp's `build_moe_ffn` indexes exactly these by expert id: the `_exps` weights (MUL_MAT_ID), their biases
(ADD_ID) and their scales (GET_ROWS).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.errors import UnsupportedModelError
from engine.gguf.model_file import ModelFile, TensorInfo

# Shared experts ("_shexp") are dense; adjugate experts ("_chexps") are routed, but by ids of their own.
_EXPERT = re.compile(r"blk\.([0-9]+)\.ffn_(gate_up|gate|up|down)_exps\.(weight|bias|scale)")
_ADJUGATE = re.compile(r"blk\.[0-9]+\.ffn_(gate|up|down)_chexps\..*")
_SINGLE_EXPERT = re.compile(r"blk\.[0-9]+\.ffn_(gate|up|down)\.[0-9]+\.weight")
_PROJECTIONS = ("gate", "up", "gate_up", "down")
_WEIGHT_DIMENSIONS, _BIAS_DIMENSIONS = 3, 2


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
        """Bytes of one expert's weights (its biases, a few kilobytes, are not counted)."""
        return sum(t.slice_bytes for t in self.weights)

    @property
    def class_key(self) -> tuple[object, ...]:
        """Layers with equal keys can share slots: same projections, types, shapes and biases."""
        tensors = (*self.weights, *self.biases)
        return tuple((t.projection, t.kind, t.tensor.type_name, t.tensor.shape) for t in tensors)


@dataclass(frozen=True, slots=True)
class ExpertLayout:
    """All routed experts and everything else; `layers` is empty for a dense model.

    `top_k` is the number of experts per token, the largest where layers differ.
    """

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
        match = _EXPERT.fullmatch(tensor.name)
        if match is None:
            _refuse_unmovable(model, tensor)
            dense.append(tensor)
        else:
            expert = _expert_tensor(model, tensor, int(match[1]), match[2], match[3])
            by_layer.setdefault(expert.layer, []).append(expert)
    layers = tuple(_layer_experts(model, layer, by_layer[layer]) for layer in sorted(by_layer))
    top_k = model.number("expert_used_count")
    _refuse_impossible_top_k(model, layers, top_k)
    return ExpertLayout(top_k, layers, tuple(dense))


def _refuse_unmovable(model: ModelFile, tensor: TensorInfo) -> None:
    if _ADJUGATE.fullmatch(tensor.name):
        raise UnsupportedModelError(
            f"“{model.architecture}” routes a second group of experts (chexps) that slots don't cover.",
            "Run it with stock llama.cpp, or choose another model.",
        )
    if _SINGLE_EXPERT.fullmatch(tensor.name):
        raise UnsupportedModelError(
            f"This “{model.architecture}” file keeps every expert in a tensor of its own ({tensor.name}), "
            "a layout that llama.cpp no longer reads.",
            "Get a newer file of this model.",
        )


def _expert_tensor(
    model: ModelFile, tensor: TensorInfo, layer: int, projection: str, kind: str
) -> ExpertTensor:
    if kind == "scale":
        raise UnsupportedModelError(
            f"“{model.architecture}” with per-expert scale tensors can't run from expert slots.",
            "llama.cpp fixes their shape when it builds the graph. Use a file without *_exps.scale tensors.",
        )
    if len(tensor.shape) != (_WEIGHT_DIMENSIONS if kind == "weight" else _BIAS_DIMENSIONS):
        raise _inconsistent(
            model, layer, f"{tensor.name} has {len(tensor.shape)} dimensions instead of one per expert"
        )
    n_expert = tensor.shape[-1]
    return ExpertTensor(layer, projection, kind, n_expert, tensor.size_bytes // n_expert, tensor)


def _layer_experts(model: ModelFile, layer: int, tensors: list[ExpertTensor]) -> LayerExperts:
    tensors.sort(key=lambda t: _PROJECTIONS.index(t.projection))
    counts = {t.n_expert for t in tensors}
    if len(counts) != 1:
        raise _inconsistent(model, layer, f"its expert tensors count differently: {sorted(counts)}")
    weights = tuple(t for t in tensors if t.kind == "weight")
    biases = tuple(t for t in tensors if t.kind == "bias")
    present = {t.projection for t in weights}
    if "down" not in present or not present & {"up", "gate_up"}:
        raise _inconsistent(model, layer, "its experts lack the up or the down projection")
    return LayerExperts(layer, counts.pop(), weights, biases)


def _refuse_impossible_top_k(model: ModelFile, layers: tuple[LayerExperts, ...], top_k: int) -> None:
    """llama.cpp ends the whole process on such files; a fault we can show is better."""
    announced = model.number("expert_count")
    fewest = min((layer.n_expert for layer in layers), default=announced)
    if not (0 < top_k <= fewest or (top_k == 0 and not layers and not announced)):
        raise UnsupportedModelError(
            f"This “{model.architecture}” file says that each token uses {top_k} experts, "
            f"but there are {fewest}.",
            "The file is inconsistent; get it again or choose another quantisation.",
        )


def _inconsistent(model: ModelFile, layer: int, what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"Layer {layer} of this “{model.architecture}” model is inconsistent: {what}.",
        "Get the file again or choose another quantisation.",
    )
