"""The warm-up button: its words, its progress, and before and after."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.inspector.warm_up_panel import WarmUpPanel, plan_words
from app.telemetry_store import TelemetryStore
from engine.events import EngineState, TtftPhases, WarmUpFinished, WarmUpProgress
from tests.support.telemetry_events import answer_event, counters_event, load_events, model_info, state_event

MS = 1_000_000
DONE = WarmUpFinished(
    t_ns=5, experts_loaded=1200, bytes_read=3 << 30, elapsed_ns=2_100 * MS, expected_hit_rate_before=0.42,
    expected_hit_rate_after=0.91, is_profile_saved=True,
)  # fmt: skip


@pytest.fixture
def store() -> TelemetryStore:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), counters_event(0), counters_event(1, bytes_read=10**7)])
    return store


@pytest.fixture
def panel(qtbot: QtBot) -> WarmUpPanel:
    panel = WarmUpPanel()
    qtbot.addWidget(panel)
    return panel


def test_it_says_what_it_will_do(store: TelemetryStore) -> None:
    # 10 slots of 1,004,096 bytes at 10 MB/s
    assert plan_words(store) == (
        "A warm-up reads the experts that will most likely be wanted into the slots, so that the next prompt "
        "waits less for the disk: at most 9.58 MiB, 1 s at the highest rate seen, 10 MB/s. "
        "With exact routing answers stay the same."
    )
    assert plan_words(TelemetryStore()) == "A warm-up needs a loaded model."


def test_the_button_starts_and_cancels(qtbot: QtBot, panel: WarmUpPanel, store: TelemetryStore) -> None:
    panel.draw(store, is_live=True)
    with qtbot.waitSignal(panel.wanted):
        panel.button.click()
    store.apply([state_event(2, EngineState.WARMING_UP)])
    store.apply([WarmUpProgress(done_experts=300, total_experts=1200, bytes_read=1 << 30)])
    panel.draw(store, is_live=True)
    assert panel.button.text() == "Cancel"
    assert panel.words == (
        "300 of 1,200 missing experts are in memory, 1 GiB read. Cancel keeps what has come."
    )
    with qtbot.waitSignal(panel.stop_wanted):
        panel.button.click()


@pytest.mark.parametrize(
    ("state", "is_live", "is_enabled"),
    [
        (EngineState.READY, True, True),
        (EngineState.READY, False, False),
        (EngineState.GENERATING, True, False),
        (EngineState.WARMING_UP, True, True),
        (EngineState.WARMING_UP, False, False),
    ],
)
def test_it_can_only_be_asked_of_an_idle_engine(
    panel: WarmUpPanel, store: TelemetryStore, state: EngineState, is_live: bool, is_enabled: bool
) -> None:
    store.apply([state_event(2, state)])
    panel.draw(store, is_live)
    assert panel.button.isEnabled() == is_enabled


def test_before_and_after_come_from_the_answers_around_it(panel: WarmUpPanel, store: TelemetryStore) -> None:
    panel.draw(store, is_live=True)
    assert panel.rows == ()
    store.apply([answer_event(n, TtftPhases(prefill_ns=n * 1000 * MS)) for n in (1, 2)])
    store.apply([DONE])
    panel.draw(store, is_live=True)
    rows = {row[0]: row[1:] for row in panel.rows}
    assert rows["experts read"] == ("", "1,200 (3 GiB)")
    assert rows["took"] == ("", "2.1 s")
    assert rows["expected hit rate"] == ("42 %", "91 %")
    assert rows["time to first token"] == ("2,000 ms", "n/a")
    store.apply([answer_event(9, TtftPhases(prefill_ns=300 * MS, prefill_disk_wait_ns=7 * MS))])
    store.apply([answer_event(9, TtftPhases(prefill_ns=900 * MS))])
    panel.draw(store, is_live=True)
    rows = {row[0]: row[1:] for row in panel.rows}
    assert rows["answer"] == ("#2", "#3")
    assert rows["time to first token"] == ("2,000 ms", "300 ms")
    assert rows["disk wait before it"] == ("0 ms", "7.0 ms")
