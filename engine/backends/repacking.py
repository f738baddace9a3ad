"""Which weights of a model are repacked: what llama.cpp has kernels for, and what the policy decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.backends.heat_keeper import known_use, saved_profile
from engine.config import LoadSettings, Repack, Routing, usable_cores
from engine.gguf.expert_layout import ExpertLayout, ExpertTensor, LayerExperts
from engine.gguf.model_file import ModelFile, TensorInfo
from engine.gguf.tensor_types import type_number
from engine.model_facts import ModelInfo
from engine.native.repack import RepackedForm, repacked_form
from engine.placement.forecast import forecast_layers
from engine.placement.placement_plan import PlacementPlan
from engine.placement.repack_policy import DecodeBytes, RepackChoice, RepackRates, choose_repacking
from engine.placement.use_estimate import KnownUse

_DEVICE_NOTES = ("Weights are not repacked: devices take them as they are in the file.",)
_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class Repacking:
    """The decision for one load. `extra_dense_bytes`: memory it takes beyond the dense weights."""

    choice: RepackChoice
    notes: tuple[str, ...] = ()
    extra_dense_bytes: int = 0

    def forms(self, layer: LayerExperts) -> tuple[RepackedForm | None, ...]:
        """Of each of the layer's weight tensors; None where it stays plain."""
        return tuple(_slice_form(t) if self.choice.is_repacked else None for t in layer.weights)

    def are_repacked(self, classes: Sequence[Sequence[LayerExperts]]) -> list[bool]:
        """Whether anything of the experts of each of these classes is repacked."""
        return [any(self.forms(layers[0])) for layers in classes]

    def described(self, info: ModelInfo, classes: Sequence[Sequence[LayerExperts]]) -> ModelInfo:
        """What was decided, and which of these classes of slots it concerns."""
        slot_classes = tuple(
            replace(each, is_repacked=is_repacked)
            for each, is_repacked in zip(info.slot_classes, self.are_repacked(classes), strict=True)
        )
        notes = info.notes + self.notes
        return replace(
            info,
            slot_classes=slot_classes,
            is_repacked=self.choice.is_repacked,
            repack_reason=self.choice.reason,
            notes=notes,
        )


def decide_for_load(
    settings: LoadSettings, model: ModelFile, layout: ExpertLayout, plan: PlacementPlan, has_tables: bool
) -> Repacking:
    """With what earlier sessions learned of the model, if that is kept."""
    profile, _ = saved_profile(settings, model)  # the load itself says what is wrong with it
    return decide_repacking(settings, layout, plan, known_use(profile, plan, layout.top_k), has_tables)


def decide_repacking(
    settings: LoadSettings,
    layout: ExpertLayout,
    plan: PlacementPlan,
    known: Sequence[KnownUse | None],
    has_tables: bool,
) -> Repacking:
    """For a load with this plan; `known` use of each class. Without experts it is done as asked.

    `has_tables`: tables stay on disk. Without them and without experts, llama.cpp places the weights itself.
    """
    if settings.devices and (layout.layers or has_tables):
        return Repacking(RepackChoice(False), _DEVICE_NOTES)
    if not layout.layers:
        is_repacked = settings.repack is not Repack.OFF
        return Repacking(RepackChoice(is_repacked), (), _tied_output_bytes(layout) if is_repacked else 0)
    choice = choose_repacking(
        settings.repack,
        _decode_bytes(settings, layout, plan, known),
        all(each.is_fully_resident for each in plan.classes),
        settings.threads or usable_cores(),
        RepackRates(),
    )
    notes = (choice.reason,) if choice.reason else ()
    if not choice.is_repacked:
        return Repacking(choice, notes)
    return Repacking(choice, notes + _plain_types(layout), _tied_output_bytes(layout))


def _decode_bytes(
    settings: LoadSettings, layout: ExpertLayout, plan: PlacementPlan, known: Sequence[KnownUse | None]
) -> DecodeBytes:
    is_resident = settings.routing is Routing.RESIDENT
    computed = float(sum(t.size_bytes for t in _dense_matrices(layout) if _matrix_form(t) is not None))
    missed: defaultdict[str, float] = defaultdict(float)
    layers = {layer.layer: layer for layer in layout.layers}
    for each in forecast_layers(plan, layout.top_k, is_resident, known, 1):
        for weight in layers[each.layer].weights:
            if _slice_form(weight) is not None:
                computed += each.requests * weight.slice_bytes
                missed[weight.tensor.type_name] += each.misses * weight.slice_bytes
    return DecodeBytes(computed, missed)


def _dense_matrices(layout: ExpertLayout) -> list[TensorInfo]:
    """The dense matrices that a token is multiplied with."""
    is_tied = all(tensor.name != _OUTPUT for tensor in layout.dense)
    return [t for t in layout.dense if len(t.shape) == 2 and (t.name != _EMBEDDING or is_tied)]


def _tied_output_bytes(layout: ExpertLayout) -> int:
    """llama.cpp keeps the embedding twice where it is also the output: rows are read from plain weights."""
    return sum(
        t.size_bytes for t in _dense_matrices(layout) if t.name == _EMBEDDING and _matrix_form(t) is not None
    )


def _plain_types(layout: ExpertLayout) -> tuple[str, ...]:
    plain = {t.tensor.type_name for layer in layout.layers for t in layer.weights if _slice_form(t) is None}
    if not plain:
        return ()
    return (f"Experts in {', '.join(sorted(plain))} stay as they are: there is no faster form here.",)


def _slice_form(expert_tensor: ExpertTensor) -> RepackedForm | None:
    """Of one expert's slice; llama.cpp has none for a tensor of a single expert."""
    return _matrix_form(expert_tensor.tensor) if expert_tensor.n_expert > 1 else None


def _matrix_form(tensor: TensorInfo) -> RepackedForm | None:
    return repacked_form(type_number(tensor.type_name), tensor.shape[0], tensor.shape[1])
