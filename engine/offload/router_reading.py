"""Routers as a graph shows them: from the node that gathers gate weights back to the router's matrix.

Only what is in the host's memory and understood is read; a layer whose router isn't has no guesses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.native import tensor
from engine.placement.router_guess import SCORE_STEPS, Router

_MOST_HOPS = 8
_SAME = (b"RESHAPE", b"VIEW", b"CONT")


def read_router(weights_node: int) -> Router | None:
    """The router of a layer whose routing node this is; None where it is not understood.

    Its arrays are views of the model's memory. The graph must be armed.
    """
    ranking = _ranking(weights_node)
    if not ranking or tensor.operation_of(ranking) != b"ARGSORT":
        return None
    steps: list[tuple[bytes, NDArray[np.float32] | None]] = []
    node = tensor.source_of(ranking, 0)
    for hops in range(_MOST_HOPS):
        operation = tensor.operation_of(node) if node else b""
        if operation == b"MUL_MAT":
            return _router(node, steps, hops)
        if operation in SCORE_STEPS:
            operand = tensor.source_of(node, 1)
            if operand and not tensor.is_host_float32(operand):
                return None
            steps.insert(0, (operation, tensor.float32_rows(operand, 1)[0] if operand else None))
        elif operation not in _SAME:
            return None
        node = tensor.source_of(node, 0)
    return None


def read_state(weights_node: int, router: Router) -> NDArray[np.float32] | None:
    """What the layer's router saw, a view of shape (tokens, elements), while the node was computed last.

    None where it is on a device. `router`: of this layer.
    """
    node = tensor.source_of(_ranking(weights_node), 0)
    for _ in range(router.hops):
        node = tensor.source_of(node, 0)
    state = tensor.source_of(node, 1)
    if not tensor.is_host_float32(state):
        return None
    return tensor.float32_rows(state, tensor.shape_of(state)[1])


def _ranking(weights_node: int) -> int:
    return tensor.source_of(tensor.source_of(weights_node, 1), 0)


def _router(product: int, steps: list[tuple[bytes, NDArray[np.float32] | None]], hops: int) -> Router | None:
    matrix, state = tensor.source_of(product, 0), tensor.source_of(product, 1)
    if not tensor.is_host_float32(matrix):
        return None
    weight = tensor.float32_rows(matrix, tensor.shape_of(matrix)[1])
    return Router(weight, _norm(state), tuple(steps), hops)


def _norm(state: int) -> NDArray[np.float32] | None:
    """The vector that scales the state after RMS normalisation."""
    if tensor.operation_of(state) != b"MUL" or tensor.operation_of(tensor.source_of(state, 0)) != b"RMS_NORM":
        return None
    weight = tensor.source_of(state, 1)
    return tensor.float32_rows(weight, 1)[0] if tensor.is_host_float32(weight) else None
