"""What the map of experts shows for scripted events, and what is read from it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.inspector.expert_map import ExpertMap
from app.inspector.expert_view import ExpertView
from app.inspector.slots_view import SlotsView
from app.telemetry_store import TelemetryStore
from tests.support.telemetry_events import (
    busy_layer_events,
    experts_event,
    load_events,
    model_info,
)


def store_with_experts() -> TelemetryStore:
    store = TelemetryStore()
    store.apply(busy_layer_events())
    return store


def maps_of(view: ExpertView) -> list[ExpertMap]:
    return view.findChildren(ExpertMap)


def choose(view: ExpertView, name: str, words: str) -> None:
    box = next(b for b in view.findChildren(QComboBox) if b.accessibleName() == name)
    box.setCurrentText(words)


def test_pointing_at_a_cell_reads_the_counters(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    store = store_with_experts()
    view.draw(store)
    maps_of(view)[0].cell_pointed.emit(1, 5)
    assert view.reading == (
        "Layer 4, expert 5: RAM pool, 977 KiB. 40 uses in prefill, 0 in decode; last used in pass 1 of 1. "
        "Half of the layer’s picks go to 1 of 8 experts."
    )
    store.apply([experts_event(2, [[0] * 8, [0, 0, 7, 0, 0, 41, 0, 0], [0] * 8])])
    view.draw(store)
    assert "41 uses in prefill" in view.reading


def test_order_by_uses_moves_the_hottest_to_the_left(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    view.draw(store_with_experts())
    choose(view, "Order of experts", "By uses, per layer")
    maps_of(view)[1].cell_pointed.emit(1, 0)
    assert view.reading.startswith("Layer 4, expert 5: RAM pool")
    maps_of(view)[1].cell_pointed.emit(1, 1)
    assert view.reading.startswith("Layer 4, expert 2: on disk only")


def test_colours_follow_the_chosen_phase(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    view.draw(store_with_experts())
    choose(view, "Time counted", "Since the model was loaded")
    assert view.scale_words == "Uses since the model was loaded: 0 to 40"
    assert maps_of(view)[0].indices[1].tolist() == [0, 0, 45, 0, 0, 255, 0, 0]  # ceil(7 x 255 / 40) = 45
    choose(view, "Phase counted", "Decode")
    assert view.scale_words == "Uses since the model was loaded: 0 to 0"
    assert not maps_of(view)[0].indices.any()


def test_arrow_keys_move_the_cell(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    view.draw(store_with_experts())
    heat = maps_of(view)[0]
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Up):
        qtbot.keyClick(heat, key)
    assert view.reading.startswith("Layer 3, expert 2:")


@pytest.mark.parametrize(("layers", "experts"), [(1, 8), (48, 128), (94, 512)])
def test_rows_carry_real_layer_numbers_at_any_size(qtbot: QtBot, layers: int, experts: int) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    view.resize(380, 600)
    view.show()
    numbers = tuple(range(3, 3 + layers))
    store = TelemetryStore()
    store.apply(load_events(model_info(numbers, experts)))
    store.apply([experts_event(1, np.ones((layers, experts), np.int64).tolist())])
    view.draw(store)
    labels = [int(text) for text in maps_of(view)[0].layer_labels]
    assert labels
    assert set(labels) <= set(numbers)
    assert len({b - a for a, b in pairwise(labels)}) <= 1


def test_a_dense_model_and_then_one_with_another_shape(qtbot: QtBot) -> None:
    experts, slots = ExpertView(), SlotsView()
    qtbot.addWidget(experts)
    qtbot.addWidget(slots)
    store = store_with_experts()
    for view in (experts, slots):
        view.draw(store)
        assert view.notice == ""
    maps_of(experts)[0].cell_pointed.emit(2, 7)
    store.apply(load_events(model_info(())))
    for view in (experts, slots):
        view.draw(store)
        assert "is a dense model" in view.notice
    store.apply([*load_events(model_info((9,), 4)), experts_event(5, [[1, 2, 3, 4]], moe_layers=(9,))])
    for view in (experts, slots):
        view.draw(store)
        assert view.notice == ""
    assert maps_of(experts)[0].indices.shape == (1, 4)
    assert maps_of(experts)[0].layer_labels == ("9",)
    assert experts.reading.startswith("Point at a place")


def test_what_moved_glows_on_the_residency_map(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    store.apply(load_events(model_info((3,), 4)))
    for t_seconds, tiers in ((1, [2, 0, 3, 0]), (2, [0, 2, 3, 0])):
        store.apply([experts_event(t_seconds, [[0] * 4], tiers=[tiers])])
    view.draw(store)
    place = maps_of(view)[1]
    fresh = place.indices[0].tolist()
    assert fresh[2:] == [3, 0]  # what stays has its tier's own colour
    assert min(fresh[:2]) > 4
    assert fresh[0] != fresh[1]
    store.apply([experts_event(5, [[0] * 4], tiers=[[0, 2, 3, 0]])])
    view.draw(store)
    assert place.indices[0].tolist() == [0, 2, 3, 0]


def test_both_maps_show_the_same_part(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    view.resize(380, 700)
    view.show()
    store = TelemetryStore()
    store.apply(load_events(model_info(tuple(range(40)), 128)))
    store.apply([experts_event(1, [[1] * 128] * 40, moe_layers=tuple(range(40)))])
    view.draw(store)
    heat, place = maps_of(view)
    heat.zoomed.emit(QRectF(32, 10, 16, 4))
    assert place.layer_labels == ("10", "11", "12", "13")
    place.show_all()
    assert "0" in place.layer_labels


def test_the_pool_is_outlined_where_places_are_large_enough(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    view.resize(380, 700)
    view.show()
    tiers = np.zeros((40, 512), np.uint8)
    tiers[10:12, 40:44] = 2
    tiers[11, 40] = 3
    layers = tuple(range(40))
    store = TelemetryStore()
    store.apply(load_events(model_info(layers, 512)))
    store.apply([experts_event(1, [[1] * 512] * 40, tiers=tiers.tolist(), moe_layers=layers)])
    view.draw(store)
    heat = maps_of(view)[0]
    assert heat.marks.outlined_lines == 0
    heat.show_part(QRectF(32, 8, 16, 8))
    assert heat.marks.outlined_lines == 2 * (2 + 4)
    heat.show_part(QRectF(132, 8, 16, 8))
    assert heat.marks.outlined_lines == 0


def test_skew_follows_the_window(qtbot: QtBot) -> None:
    view = ExpertView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    store.apply(load_events(model_info((3,), 4)))
    store.apply([experts_event(1, [[5, 5, 5, 5]], decode=[[1, 0, 0, 1]])])
    store.apply([experts_event(2, [[5, 5, 5, 5]], decode=[[7, 0, 0, 1]])])
    view.draw(store)
    choose(view, "Time counted", "Since the model was loaded")
    choose(view, "Phase counted", "Prefill")
    assert view.skew_text == "Skew: half of a layer’s picks go to 2 of its 4 experts."
    choose(view, "Time counted", "Last token")
    choose(view, "Phase counted", "Decode")
    assert view.skew_text == "Skew: half of a layer’s picks go to 1 of its 4 experts."
    assert view.scale_words == "Uses in the last 3 decoded tokens, sampled together: 0 to 6"
