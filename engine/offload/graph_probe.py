"""Does this model's graph use its experts in the one way that slots cover?

Names alone would miss a graph that indexes experts by other ids. So every use of an expert tensor is
checked: it must be a MUL_MAT_ID (weights) or ADD_ID (biases) by the very ids that the layer's routing node
shows, and come after that node. Nothing is computed: every node seen is disarmed (it becomes a NONE) until
the probe is over, whichever device it is on.
"""

from __future__ import annotations

from engine.errors import UnsupportedModelError
from engine.native import tensor
from engine.offload.router_reading import read_router
from engine.offload.row_probe import RowProbe
from engine.placement.router_guess import Router

_USES = {b"MUL_MAT_ID": 0, b"ADD_ID": 1}  # operation -> operand that holds the experts; ids are operand 2


class GraphProbe:
    """Collects what the graph does with expert tensors; `users` maps their addresses to layer numbers.

    `rows` looks at the same nodes. `routing_operation`: operation code of the routing nodes, to recognise
    them cheaply later. `routers`: of the layers where they are understood; `top_k`: experts that each picks.
    """

    def __init__(
        self,
        users: dict[int, int],
        routing_nodes: dict[bytes, int],
        ranking_nodes: dict[bytes, int],
        rows: RowProbe | None,
    ) -> None:
        self._rows = rows
        self._users = users
        self._routing_nodes = routing_nodes
        self._ranking_nodes = ranking_nodes
        self._rankings: dict[int, int] = {}
        self.ranking_operation = -1
        self.routing_operation = -1
        self.top_k = 0
        self.routers: dict[int, Router] = {}
        self._routings: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._unused = set(users)
        self._fault = ""
        self._disarmed: list[tuple[int, int]] = []

    def see(self, node: int) -> None:
        """Take note of a graph node and disarm it; called for all of them in order, must not raise."""
        if self._rows is not None:
            self._rows.see(node)
        self._look(node)
        self._disarmed.append((node, tensor.disarm(node)))

    def restore(self) -> None:
        """Arm the nodes again: llama.cpp re-uses a graph. The next one may be another."""
        for node, operation in self._disarmed:
            tensor.arm(node, operation)
        self._disarmed.clear()
        for layer, node in self._routings.items():
            router = read_router(node)
            if router is not None:
                self.routers[layer] = router
        self._routings.clear()
        if self._rows is not None:
            self._rows.end_graph()

    def _look(self, node: int) -> None:
        name = tensor.name_of(node)
        if name in self._ranking_nodes:
            self._rankings[self._ranking_nodes[name]] = node
            self.ranking_operation = tensor.operation_code_of(node)
            return
        layer = self._routing_nodes.get(name)
        if layer is not None:
            self._routings[layer] = node
            ids = self._ids[layer] = tensor.source_of(node, 1)
            self.top_k = tensor.shape_of(ids)[0]
            self.routing_operation = tensor.operation_code_of(node)
            return
        for operand in range(2):
            address = tensor.source_of(node, operand)
            if address in self._users:
                self._use(node, operand, address)

    def _use(self, node: int, operand: int, address: int) -> None:
        layer = self._users[address]
        operation = tensor.operation_of(node)
        ids = self._ids.get(layer)
        self._unused.discard(address)
        if _USES.get(operation) != operand:
            self._fault = self._fault or f"layer {layer} uses its experts in {operation.decode()}"
        elif ids is None:
            self._fault = self._fault or f"layer {layer} does not show its routing before it uses it"
        elif not _is_or_copies(tensor.source_of(node, 2), ids):
            self._fault = self._fault or f"layer {layer} picks experts by other ids than its router's"

    def ranking_fault(self, architecture: str) -> UnsupportedModelError | None:
        """None if every layer's ids are the first columns of its ranking; call `check` before."""
        for layer in self._ranking_nodes.values():
            ranking = self._rankings.get(layer)
            if ranking is None or tensor.source_of(self._ids[layer], 0) != ranking:
                return UnsupportedModelError(
                    f"“{architecture}” does not show the ranking of layer {layer}'s experts, so ranks "
                    "can't be limited to the resident ones.",
                    "Use exact routing.",
                )
        return None

    def check(self, architecture: str) -> None:
        """Raise UnsupportedModelError unless all experts are used as slots need it."""
        if not self._fault and self._unused:
            self._fault = f"layer {min(self._users[a] for a in self._unused)} does not use all of its experts"
        if self._fault:
            raise UnsupportedModelError(
                f"“{architecture}” can't run from expert slots: {self._fault}.",
                "Run it with stock llama.cpp, or choose another model.",
            )


def _is_or_copies(ids: int, original: int) -> bool:
    """The scheduler hands a tensor to another device as a copy named “DEVICE#NAME#NUMBER”."""
    return ids == original or tensor.name_of(ids).split(b"#")[1:2] == [tensor.name_of(original)]
