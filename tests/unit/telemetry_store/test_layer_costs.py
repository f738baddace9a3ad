"""What layers cost, since the load and in the last five seconds, by hand."""

from __future__ import annotations

from app.expert_history import Phase
from app.layer_costs import COSTS, LayerCosts
from app.telemetry_store import TelemetryStore
from tests.support.telemetry_events import layers_event, load_events, model_info


def test_phases_are_kept_apart_and_add_up() -> None:
    costs = LayerCosts(layers_event(1, disk_wait_ns=((5, 0, 1), (2, 2, 2)), misses=((1, 0, 0), (0, 0, 4))))
    disk, misses = COSTS.index("disk_wait_ns"), COSTS.index("misses")
    assert costs.totals(Phase.PREFILL, False)[disk].tolist() == [5, 0, 1]
    assert costs.totals(Phase.DECODE, False)[misses].tolist() == [0, 0, 4]
    assert costs.totals(Phase.BOTH, False)[disk].tolist() == [7, 2, 3]


def test_lately_is_the_growth_over_five_seconds() -> None:
    costs = LayerCosts(layers_event(0, compute_ns=((0, 0, 0), (10, 10, 10))))
    for second in range(1, 11):
        costs.add(layers_event(second, compute_ns=((0, 0, 0), (10 + second, 10, 10 + 2 * second))))
    assert costs.recent_span_ns == 5_000_000_000
    assert costs.totals(Phase.BOTH, True)[0].tolist() == [5, 0, 10]
    assert costs.totals(Phase.BOTH, False)[0].tolist() == [20, 10, 30]


def test_a_snapshot_stays() -> None:
    costs = LayerCosts(layers_event(0))
    snapshot = costs.snapshot()
    costs.add(layers_event(1, misses=((1, 1, 1), (0, 0, 0))))
    assert not snapshot.totals(Phase.BOTH, False).any()


def test_another_model_or_a_new_count_begins_anew() -> None:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), layers_event(1, misses=((5, 5, 5), (0, 0, 0)))])
    store.apply([layers_event(2, misses=((1, 0, 0), (0, 0, 0)))])
    assert store.layers is not None
    assert store.layers.totals(Phase.BOTH, False)[-1].tolist() == [1, 0, 0]
    assert not store.layers.totals(Phase.BOTH, True).any()
    store.apply(load_events(model_info(), 3))
    assert store.layers is None
