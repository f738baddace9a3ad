"""The probe's passes: graphs are built and looked at, and nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.native.context import NativeContext
from engine.native.model import NativeModel
from engine.offload.expert_pipeline import ExpertPipeline, routing_node
from engine.offload.graph_probe import GraphProbe
from engine.offload.resident_routing import ranking_node
from engine.offload.row_probe import RowProbe
from engine.offload.slot_layers import LayerSlots


def probe_graph(
    pipeline: ExpertPipeline,
    model: NativeModel,
    context: NativeContext,
    layers: Sequence[LayerSlots],
    tables: RowProbe | None,
    check: Callable[[], None],
    architecture: str,
) -> None:
    """Look at the graph of one token; with row tables also at a unit's: an absent row would go unnoticed.

    Raises UnsupportedModelError for what slots can't run, or what `check` raises.
    """
    users = {
        model.experts.tensors[t.tensor.name]: layer.experts.layer
        for layer in layers
        for t in (*layer.experts.weights, *layer.experts.biases)
    }
    numbers = [layer.experts.layer for layer in layers]
    rankings = {ranking_node(number): number for number in numbers}
    pipeline.probe = GraphProbe(users, {routing_node(number): number for number in numbers}, rankings, tables)
    for n_tokens in (1, context.unit_tokens) if tables else (1,):
        context.decode([0] * n_tokens, 0, True)
        check()
        pipeline.probe.restore()
        context.cut(0)
    pipeline.finish_probe(architecture)
