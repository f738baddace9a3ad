"""Which layers can share slots, and how large a slot of theirs is."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import UnsupportedModelError
from engine.gguf.expert_layout import ExpertLayout, LayerExperts
from engine.native.model import NativeModel
from engine.native.repack import ROW_GROUP
from engine.offload.dense_reader import CHUNK_BYTES
from engine.offload.slot_arena import slot_bytes
from engine.placement.placement_plan import SlotClassSpec


def layer_classes(layers: Sequence[LayerExperts]) -> list[list[LayerExperts]]:
    """Layers whose experts have the same tensors, in the order of their first layer."""
    by_key: dict[tuple[object, ...], list[LayerExperts]] = {}
    for layer in layers:
        by_key.setdefault(layer.class_key, []).append(layer)
    return list(by_key.values())


def class_specs(classes: Sequence[Sequence[LayerExperts]]) -> tuple[SlotClassSpec, ...]:
    """What the planner must know of each class."""
    return tuple(
        SlotClassSpec(tuple(layer.layer for layer in layers), layers[0].n_expert, slot_bytes(layers[0]))
        for layers in classes
    )


def largest_read_bytes(layout: ExpertLayout) -> int:
    """Largest piece that a reader thread may have to stage."""
    matrices = [t for t in layout.dense if len(t.shape) == 2]
    row_groups = [ROW_GROUP * (t.size_bytes // t.shape[1]) for t in matrices]
    slices = [t.slice_bytes for layer in layout.layers for t in layer.weights]
    return max([CHUNK_BYTES, *row_groups, *slices])


def used_layers(layout: ExpertLayout, architecture: str, model: NativeModel) -> tuple[LayerExperts, ...]:
    """Expert layers that llama.cpp really loaded (it skips multi-token-prediction layers)."""
    used = []
    for layer in layout.layers:
        names = [t.tensor.name for t in (*layer.weights, *layer.biases)]
        known = [name in model.experts.tensors for name in names]
        if not any(known):
            continue
        if not all(known):
            missing = names[known.index(False)]
            raise UnsupportedModelError(
                f"“{architecture}”: llama.cpp does not load {missing} of layer {layer.layer}.",
                "The file does not fit this architecture; get another quantisation of the model.",
            )
        used.append(layer)
    return tuple(used)
