"""Does a model's graph read its row tables in the one way that a buffer of rows covers?

An absent row would be computed with as zeros, so every use of a table is checked: it must be a GET_ROWS whose
row numbers are an input of the graph, known before anything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.native import tensor

_GATHER, _TABLE, _IDS = b"GET_ROWS", 0, 1


class RowProbe:
    """Collects what the graph does with the tables of these names; `tables` maps names to tensors seen."""

    def __init__(self, names: Sequence[str]) -> None:
        self.tables: dict[str, int] = {}
        self.misused: set[str] = set()
        self.operation = -1
        self._names = frozenset(names)
        self._nodes: set[int] = set()
        self._known: dict[int, str] = {0: ""}  # operands: which table, if any

    def see(self, node: int) -> None:
        """Take note of a graph node; called for all of them, must not raise."""
        for operand, address in enumerate(tensor.sources_of(node)):
            name = self._name_of(address)
            if name:
                self._use(node, operand, name, address)
        self._nodes.add(node)

    def end_graph(self) -> None:
        """What comes next are nodes of another graph, perhaps at the same addresses."""
        self._nodes.clear()

    def _name_of(self, address: int) -> str:
        """Which table this operand is, or ""."""
        name = self._known.get(address)
        if name is None:
            name = tensor.name_of(address).decode(errors="replace")
            name = self._known[address] = name if name in self._names else ""
        return name

    def _use(self, node: int, operand: int, name: str, address: int) -> None:
        if self.tables.setdefault(name, address) != address:
            self.misused.add(name)  # the table exists twice: as output matrix too
        is_gather = operand == _TABLE and tensor.operation_of(node) == _GATHER
        ids = tensor.source_of(node, _IDS)
        # a node that was probed before may look like an input
        if is_gather and ids not in self._nodes and tensor.is_int32_input(ids):
            self.operation = tensor.operation_code_of(node)
        else:
            self.misused.add(name)
