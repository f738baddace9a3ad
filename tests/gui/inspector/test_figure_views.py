"""What the tabs of slots, times, answers and numbers show for scripted events."""

from __future__ import annotations

import dataclasses

import numpy as np
from PySide6.QtGui import QColor, QPalette
from pytestqt.qtbot import QtBot

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
    busy_layer_events,
    counters_event,
    experts_event,
    load_events,
    model_info,
)


def test_slots_against_the_plan(qtbot: QtBot) -> None:
    view = SlotsView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    store.apply(busy_layer_events())
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
