"""What the tabs show for scripted events."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.inspector.expert_map import ExpertMap
from app.inspector.expert_view import ExpertView
from app.inspector.numbers_view import NumbersView
from app.inspector.slots_view import SlotsView
from app.inspector.time_view import TimeView
from app.inspector.ttft_bars import TtftBars
from app.inspector.ttft_view import TtftView
from app.telemetry_store import TelemetryStore
from engine.events import Counters, CountersSampled, GenerationStarted, TextDelta, TtftPhases
from tests.support.telemetry_events import (
    SECOND_NS,
    SLOT_BYTES,
    answer_event,
    counters_event,
    experts_event,
    load_events,
    model_info,
)


def store_with_experts() -> TelemetryStore:
    store = TelemetryStore()
    uses = np.zeros((3, 8), np.int64)
    uses[1, 5] = 40
    uses[1, 2] = 7
    tiers = np.zeros((3, 8), np.uint8)
    tiers[1, 5] = 2
    store.apply(load_events(model_info()))
    store.apply([experts_event(1, uses.tolist(), tiers=tiers.tolist(), last_pass=(uses > 0).tolist())])
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


def test_slots_against_the_plan(qtbot: QtBot) -> None:
    view = SlotsView()
    qtbot.addWidget(view)
    store = store_with_experts()
    store.apply(
        [
            counters_event(2, expert_requests=100, expert_misses=50, evictions=10),
            counters_event(4, expert_requests=300, expert_misses=70, evictions=17),
        ]
    )
    view.draw(store)
    # one slot of 1,004,096 bytes in use; 3 layers x 2 pool slots, 4 window slots
    assert view.table_rows == (
        ("RAM pool", "1", "6", "981 KiB of 5.75 MiB", "n/a"),
        ("RAM window", "0", "4", "0 B of 3.83 MiB", "n/a"),
        ("on disk only", "23", "", "21.9 MiB", "n/a"),
    )
    assert view.hits_text == (
        "Hit rate: 90 % in the last 2 s, 77 % since the load. "
        "Evictions: 3.5/s in the last 2 s, 17 since the load."
    )


def test_requests_by_tier_moves_and_the_budget(qtbot: QtBot) -> None:
    view = SlotsView()
    qtbot.addWidget(view)
    shared = dataclasses.replace(model_info().slot_classes[0], hot_per_layer=1)
    info = dataclasses.replace(
        model_info(), slot_classes=(shared,), used_bytes=250_000_000, locked_bytes=3 * SLOT_BYTES
    )
    store, before, after = TelemetryStore(), np.zeros((3, 8), np.uint8), np.zeros((3, 8), np.uint8)
    before[:, :2], after[:, 1:3], after[0, 1] = 2, 2, 3  # one gone, one come in each layer, one risen
    store.apply(
        [
            *load_events(info),
            counters_event(1),
            experts_event(1, [[0] * 8] * 3, tiers=before.tolist()),
            CountersSampled(
                t_ns=2 * SECOND_NS,
                counters=Counters(
                    evictions=9, expert_misses=10, expert_streamed=2,
                    requests_by_tier={"disk": 10, "host_pool": 25, "hot": 5},
                ),
            ),
            experts_event(2, [[0] * 8] * 3, tiers=after.tolist()),
        ]
    )  # fmt: skip
    view.draw(store)
    assert view.table_rows == (
        ("hot zone in RAM", "1", "3", "981 KiB of 2.87 MiB", "12 %"),
        ("RAM pool", "5", "3", "4.79 of 2.87 MiB", "62 %"),
        ("RAM window", "0", "4", "0 B of 3.83 MiB", "0 %"),
        ("on disk only", "18", "", "17.2 MiB", "25 %"),
    )
    assert view.moves_text.startswith(
        "Seen in the last 2 s: 3 loaded from disk, 1 into the hot zone, 0 out of the hot zone, 3 evicted."
    )
    assert view.moves_text.endswith("Exact, since the load: 12 read for answers, 9 evicted.")
    assert "of them the hot zone" in view.legend_text.replace("&nbsp;", " ")
    assert "VRAM" not in view.legend_text
    # slots 10 x 1,004,096; dense 10^8, context and compute 10^7 each, of a budget of 10^9
    assert view.memory_rows == (
        ("expert slots", "9.58 MiB", "5.75 MiB"),
        ("dense weights", "95.4 MiB", ""),
        ("context (KV cache)", "9.54 MiB", "0 B"),
        ("compute buffers", "9.54 MiB", ""),
        ("together", "124 MiB", ""),
        ("whole process after the load", "", "238 MiB"),
        ("of the budget of 954 MiB", "13 %", "25 %"),
        ("locked in RAM", "", "2.87 MiB"),
    )


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


def test_time_figures(qtbot: QtBot) -> None:
    view = TimeView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    view.draw(store)
    assert "n/a" in view.figures_text
    store.apply(
        [
            counters_event(1),
            counters_event(2, bytes_read=2_000_000_000),
            counters_event(
                10,
                bytes_read=6_000_000_000,
                decode_tokens=80,
                decode_ns=8 * 10**9,
                disk_wait_decode_ns=2 * 10**9,
            ),
        ]
    )
    view.draw(store)
    assert view.figures_text == (
        "Last 8 s: prefill n/a, decode 10.0 tok/s; disk read 500 MB/s "
        "(maximum not measured), 47.7 MiB per token; computed 75 % of the time, "
        "stood still for the disk 25 %."
    )


def test_phases_of_answers_side_by_side_add_up(qtbot: QtBot) -> None:
    view = TtftView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    view.draw(store)
    assert view.notice.startswith("No answer yet.")
    store.apply([answer_event(1, TtftPhases(queue_ns=10**9))])
    ttft = TtftPhases(
        load_ns=1_204_000_000,
        prefill_ns=2_000_000_000,
        first_decode_ns=96_000_000,
        prefill_disk_wait_ns=1_500_000_000,
    )
    store.apply([answer_event(2, ttft)])
    view.draw(store)
    assert view.notice == ""
    assert view.rows == (
        ("queue", "0 ms", "1,000 ms", "−1,000 ms"),
        ("load", "1,204 ms", "0 ms", "+1,204 ms"),
        ("initialise", "0 ms", "0 ms", "0 ms"),
        ("warm-up", "0 ms", "0 ms", "0 ms"),
        ("template", "0 ms", "0 ms", "0 ms"),
        ("prefill", "2,000 ms", "0 ms", "+2,000 ms"),
        ("of it waiting for disk", "1,500 ms", "0 ms", "+1,500 ms"),
        ("first decode", "96 ms", "0 ms", "+96 ms"),
        ("first paint", "n/a", "n/a", "n/a"),
        ("time to first token", "3,300 ms", "1,000 ms", "+2,300 ms"),
    )
    assert view.sentence.startswith("Against answer #1, load grew first: 0 ms to 1,204 ms.")
    store.apply([answer_event(3, TtftPhases(prefill_ns=10**9))])
    view.draw(store)
    assert view.sentence == "No phase grew by more than 20 % and 50 ms against answer #2."
    view.choose_answer(2)
    view.compare_with(3)
    assert view.rows[-1] == ("time to first token", "3,300 ms", "1,000 ms", "+2,300 ms")


def test_a_click_on_a_bar_shows_that_answer(qtbot: QtBot) -> None:
    view = TtftView()
    qtbot.addWidget(view)
    view.resize(420, 700)
    view.show()
    store = TelemetryStore()
    view.draw(store)
    store.apply([answer_event(n, TtftPhases(prefill_ns=n * 10**9)) for n in (1, 2, 3, 4)])
    view.draw(store)
    bars = view.findChild(TtftBars)
    bars.answer_chosen.emit(2)
    assert view.rows[-1][1:3] == ("2,000 ms", "1,000 ms")


def test_numbers_are_the_counters(qtbot: QtBot) -> None:
    view = NumbersView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    view.draw(store)
    assert set(view.texts.values()) == {"n/a", "not measured"}
    counters = Counters(
        bytes_read=3 << 30, bytes_by_reason={"dense": 1 << 30, "miss": 2 << 30}, expert_requests=24_576,
        expert_misses=6_144, evictions=12,
    )  # fmt: skip
    store.apply([*load_events(model_info()), CountersSampled(t_ns=1, counters=counters)])
    view.draw(store)
    texts = view.texts
    assert texts["bytes read"] == "3 GiB"
    assert texts["read for missing experts"] == "2 GiB"
    assert texts["read ahead of need"] == "n/a"
    assert texts["expert requests"] == "24,576"
    assert texts["hit rate"] == "75 %"
    # 10 slots x 1,004,096 bytes of 10^9
    assert texts["expert slots"] == "9.58 MiB (1 % of the budget)"


def test_numbers_say_what_decoding_needs(qtbot: QtBot) -> None:
    view = NumbersView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    store.apply([*load_events(model_info()), counters_event(0)])
    store.apply([GenerationStarted(t_ns=1, prompt_tokens=1000, cached_tokens=0, context_tokens=4096)])
    store.apply([TextDelta(t_ns=2, text="a", completion_tokens=24)])
    store.apply([counters_event(2, decode_tokens=20, decode_ns=2 * 10**9, bytes_read=3 * 10**9)])
    view.draw(store)
    texts = view.texts
    # 10^7 bytes for 4,096 tokens: 2,441 each, 1,024 of them filled
    assert texts["growth per token"] == "2.38 KiB"
    assert texts["of it filled"] == "2.38 MiB (1,024 of 4,096 tokens)"
    # 10^8 dense and 3 layers x 2 experts x 10^6, ten times a second
    assert texts["weights per decoded token"] == "101 MiB"
    assert texts["needed memory bandwidth"] == "1.06 GB/s"
    assert texts["read from disk meanwhile"] == "1.5 GB/s"
    store.apply(load_events(model_info(), 3))
    view.draw(store)
    assert view.texts["of it filled"] == "0 B (0 of 4,096 tokens)"


def test_plots_follow_the_palette(qtbot: QtBot) -> None:
    view = TtftView()
    qtbot.addWidget(view)
    view.resize(300, 300)
    store = TelemetryStore()
    store.apply([answer_event(1, TtftPhases(queue_ns=10**9))])
    view.show()
    for colour in ("#101010", "#fafafa"):
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Base, QColor(colour))
        palette.setColor(QPalette.ColorRole.Text, QColor("#fafafa" if colour == "#101010" else "#101010"))
        view.setPalette(palette)
        view.draw(store)
        picture = view.grab().toImage()
        assert picture.pixelColor(16, 16).name() == colour


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
