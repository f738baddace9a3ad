"""The row probe on small graphs of ggml's own: what counts as reading by row, and what does not."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from engine.native import tensor
from engine.native.library import GgmlInitParams, ggml_base
from engine.offload.row_probe import RowProbe

_F32, _I32 = 0, 26
_NAME = "table.weight"


@dataclass(frozen=True, slots=True)
class Graph:
    """Tensors to build nodes of; `ids` has data, as an input of a graph that is about to run."""

    context: int
    table: int
    ids: int


def _new(context: int, kind: int, columns: int, rows: int = 1) -> int:
    return int(ggml_base().ggml_new_tensor_3d(context, kind, columns, rows, 1))


def _node(name: str, graph: Graph, *operands: int) -> int:
    """A node of an operation for which the engine itself has no use."""
    function = getattr(ggml_base(), f"ggml_{name}")
    function.restype, function.argtypes = c.c_void_p, [c.c_void_p] * (1 + len(operands))
    return int(function(graph.context, *operands))


def _gather(graph: Graph, table: int, ids: int) -> int:
    return int(ggml_base().ggml_get_rows(graph.context, table, ids))


@pytest.fixture
def graph() -> Iterator[Graph]:
    base, numbers = ggml_base(), c.create_string_buffer(64)
    context = base.ggml_init(GgmlInitParams(1 << 16, None, True))
    table, ids = _new(context, _F32, 8, 50), _new(context, _I32, 4)
    base.ggml_set_name(table, _NAME.encode())
    tensor.point_at(ids, c.addressof(numbers))
    yield Graph(context, table, ids)
    base.ggml_free(context)


def _probed(*nodes: int) -> RowProbe:
    probe = RowProbe([_NAME])
    for node in nodes:
        probe.see(node)
    return probe


def test_rows_by_an_input_are_what_the_buffer_covers(graph: Graph) -> None:
    gather = _gather(graph, graph.table, graph.ids)
    probe = _probed(gather, _node("cont", graph, gather))
    assert probe.misused == set()
    assert probe.tables == {_NAME: graph.table}
    assert probe.operation == tensor.operation_code_of(gather)


def _as_matrix(graph: Graph) -> int:
    return _node("mul_mat", graph, graph.table, _new(graph.context, _F32, 8, 3))


def _as_second_operand(graph: Graph) -> int:
    return _node("add", graph, _new(graph.context, _F32, 8, 50), graph.table)


def _as_view(graph: Graph) -> int:
    return _node("transpose", graph, graph.table)


def _by_computed_ids(graph: Graph) -> int:
    computed = _node("cont", graph, graph.ids)
    tensor.point_at(computed, tensor.data_of(graph.ids))
    return _gather(graph, graph.table, computed)


def _by_absent_ids(graph: Graph) -> int:
    return _gather(graph, graph.table, _new(graph.context, _I32, 4))


@pytest.mark.parametrize("use", [_as_matrix, _as_second_operand, _as_view, _by_computed_ids, _by_absent_ids])
def test_any_other_use_is_noticed(graph: Graph, use: Callable[[Graph], int]) -> None:
    assert _probed(use(graph)).misused == {_NAME}
    # nor does a use that is fine make up for it
    assert _probed(use(graph), _gather(graph, graph.table, graph.ids)).misused == {_NAME}


def test_a_table_that_exists_twice_is_noticed(graph: Graph) -> None:
    twin = _new(graph.context, _F32, 8, 50)
    ggml_base().ggml_set_name(twin, _NAME.encode())
    gathers = [_gather(graph, table, graph.ids) for table in (graph.table, twin)]
    assert _probed(*gathers).misused == {_NAME}


def test_a_computed_input_is_noticed_though_it_was_disarmed(graph: Graph) -> None:
    computed = _node("cont", graph, graph.ids)
    tensor.point_at(computed, tensor.data_of(graph.ids))
    probe = _probed(computed)
    tensor.disarm(computed)
    probe.see(_gather(graph, graph.table, computed))
    assert probe.misused == {_NAME}


def test_an_address_may_be_an_input_of_the_next_graph(graph: Graph) -> None:
    probe = _probed(graph.ids)
    probe.end_graph()
    probe.see(_gather(graph, graph.table, graph.ids))
    assert probe.misused == set()
