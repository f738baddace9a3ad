"""Resident routing inside the graph: rewrites the router's ranking before the gate weights are gathered.

llama.cpp sorts all experts of a token by score (“ffn_moe_argsort-<layer>”) and looks at the first k through a
view; what we write into the first k columns is what the rest of the graph uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.native import tensor
from engine.placement.resident_pools import ResidentPools
from engine.placement.routing_policy import Ids, RoutingCost, choose_resident, routing_cost


def ranking_node(layer: int) -> bytes:
    """Name of the node that holds all experts of a layer, sorted by score."""
    return b"ffn_moe_argsort-%d" % layer


class ResidentRouting:
    """Owned by the engine thread; `layers`: numbers of the expert layers, in order."""

    def __init__(self, layers: Sequence[int], top_k: int, pools: ResidentPools) -> None:
        self.pools = pools
        self.operation = -1  # operation code of ranking nodes, known after the probe
        self._top_k = top_k
        self._index_of = {ranking_node(layer): index for index, layer in enumerate(layers)}
        self._wanted: dict[int, Ids] = {}

    def knows(self, name: bytes) -> bool:
        """Whether this node is a layer's ranking."""
        return name in self._index_of

    def route(self, name: bytes, node: int) -> int:
        """The ranking is computed: let the first k be what the policy allows; returns the layer's index."""
        index = self._index_of[name]
        is_remote = tensor.is_on_device(node)
        ranking = tensor.fetch_int32_rows(node) if is_remote else tensor.int32_rows(node)
        if not len(ranking):
            return index
        wanted = ranking[:, : self._top_k].copy()
        members = self.pools.members[index, : ranking.shape[1]]
        ranking[:, : self._top_k] = choose_resident(ranking, self._top_k, members)
        if is_remote:
            tensor.store_rows(node, ranking)
        self.pools.observe(index, wanted)
        self._wanted[index] = wanted
        return index

    def cost(self, index: int, used: Ids, weights_node: int) -> RoutingCost:
        """What that changed in a layer; call it once, at the node that gathers the gate weights."""
        wanted = self._wanted.pop(index, None)
        if wanted is None:
            return RoutingCost()
        return routing_cost(wanted, used, _probabilities(weights_node, len(used)))


def _probabilities(weights_node: int, n_tokens: int) -> NDArray[np.float32]:
    """The router's probabilities, (tokens, experts): what the node gathers from."""
    source = tensor.source_of(weights_node, 0)
    rows = tensor.fetch_float32_rows if tensor.is_on_device(source) else tensor.float32_rows
    return rows(source, n_tokens)
