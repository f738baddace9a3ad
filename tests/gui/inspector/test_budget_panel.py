"""The budget controls: what is in force, what is wrong, what a reload would do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.inspector.budget_panel import BudgetPanel
from app.load_fields import LoadFields
from app.load_forecast import ForecastAnswer, model_forecast
from app.telemetry_store import TelemetryStore
from engine.config import GIB, LoadSettings, Routing
from engine.errors import BudgetError
from engine.events import EngineState, ModelAdjusted, ModelUnloaded
from engine.hardware.nvml import GpuFacts
from engine.model_facts import DeviceInfo
from engine.telemetry.gpu_sampler import GpuSample
from tests.support.telemetry_events import counters_event, load_events, model_info, state_event

_ASKED = LoadSettings(Path("/models/tiny.gguf"), pool_per_layer=2)
_REMOTE = "rpc:box:50052"
_MODEL = replace(model_info(), largest_unit_tokens=16, is_unit_open=True, routing=Routing.EXACT)


@pytest.fixture
def store() -> TelemetryStore:
    store = TelemetryStore()
    store.apply([*load_events(_MODEL), counters_event(1)])
    return store


@pytest.fixture
def asked() -> list[LoadSettings]:
    """What forecasts were asked for."""
    return []


@pytest.fixture
def panel(qtbot: QtBot, store: TelemetryStore, asked: list[LoadSettings]) -> BudgetPanel:
    panel = BudgetPanel()
    qtbot.addWidget(panel)
    panel.forecast_wanted.connect(asked.append)
    panel.show_asked(_ASKED, (_REMOTE,))
    panel.show()
    panel.draw(store)
    return panel


def _fields(panel: BudgetPanel) -> LoadFields:
    assert panel.fields is not None
    return panel.fields


def _type(panel: BudgetPanel, name: str, text: str) -> None:
    """As a user would: replace what the field says."""
    field = _fields(panel).texts[name]
    field.setText(text)
    field.textEdited.emit(text)


def test_without_a_model_there_is_nothing_to_change(qtbot: QtBot) -> None:
    panel = BudgetPanel()
    qtbot.addWidget(panel)
    panel.draw(TelemetryStore())
    assert panel.about == "Budgets belong to a model. Open one, then its settings are here."
    assert panel.fields is None
    assert panel.reload.isHidden()


def test_a_load_is_shown_as_it_was_asked_for_and_as_it_is(panel: BudgetPanel) -> None:
    fields = _fields(panel)
    assert fields.texts["pool_per_layer"].text() == "2"
    assert fields.texts["ram_budget_bytes"].text() == ""
    assert fields.rows["pool_per_layer"].state == "now 2 of 8"
    assert fields.rows["ram_budget_bytes"].state == "now 954 MiB"
    assert not panel.undo.isEnabled()


def test_a_lost_device_is_a_reason_to_reload_without_a_change(qtbot: QtBot, panel: BudgetPanel) -> None:
    with qtbot.waitSignal(panel.reload_wanted) as caught:
        panel.reload.click()
    assert caught.args == [_ASKED]


def test_a_change_needs_a_reload_and_can_be_undone(qtbot: QtBot, panel: BudgetPanel) -> None:
    _type(panel, "unit_tokens", "17")
    assert _fields(panel).rows["unit_tokens"].state == "now 16 tokens · needs a reload"
    assert _fields(panel).rows["pool_per_layer"].state == "now 2 of 8"
    assert panel.reload.text() == "Reload"
    with qtbot.waitSignal(panel.reload_wanted) as caught:
        panel.reload.click()
    assert caught.args == [replace(_ASKED, unit_tokens=17)]
    panel.undo.click()
    assert _fields(panel).texts["unit_tokens"].text() == ""
    assert _fields(panel).rows["unit_tokens"].state == "now 16 tokens"
    assert not panel.undo.isEnabled()


def test_what_needs_no_reload_is_applied(qtbot: QtBot, panel: BudgetPanel) -> None:
    _type(panel, "pool_per_layer", "1")
    _type(panel, "unit_tokens", "3")
    rows = _fields(panel).rows
    assert rows["pool_per_layer"].state == "now 2 of 8 · applies at once"
    assert rows["unit_tokens"].state == "now 16 tokens · applies at once"
    assert panel.reload.text() == "Apply"
    assert panel.reload.toolTip() == "Go on with the values above; what is in memory stays there."
    with qtbot.waitSignal(panel.adjust_wanted) as caught, qtbot.assertNotEmitted(panel.reload_wanted):
        panel.reload.click()
    wanted = replace(_ASKED, pool_per_layer=1, unit_tokens=3)
    assert caught.args == [wanted]
    panel.show_coming(wanted)
    assert rows["unit_tokens"].state == "now 16 tokens · is being applied"
    assert not panel.reload.isEnabled()
    panel.show_coming(None)
    panel.show_asked(wanted, (_REMOTE,))
    assert panel.reload.text() == "Reload"
    assert panel.reload.isEnabled()


def test_one_reload_brings_all_changes(qtbot: QtBot, panel: BudgetPanel) -> None:
    _type(panel, "unit_tokens", "3")
    _type(panel, "ram_budget_bytes", "1 GiB")
    rows = _fields(panel).rows
    assert rows["unit_tokens"].state == "now 16 tokens · needs no reload"
    assert rows["ram_budget_bytes"].state == "now 954 MiB · needs a reload"
    with qtbot.waitSignal(panel.reload_wanted) as caught:
        panel.reload.click()
    assert caught.args == [replace(_ASKED, unit_tokens=3, ram_budget_bytes=GIB)]


def test_while_it_answers_values_apply_afterwards(panel: BudgetPanel, store: TelemetryStore) -> None:
    _type(panel, "unit_tokens", "3")
    store.apply([state_event(3, EngineState.GENERATING)])
    panel.draw(store)
    assert _fields(panel).rows["unit_tokens"].state == "now 16 tokens · applies after this answer"
    assert panel.reload.text() == "Apply"


def test_pools_are_asked_about_with_resident_routing_only(panel: BudgetPanel, store: TelemetryStore) -> None:
    fields = _fields(panel)
    assert fields.rows["routing"].state == "now exact"
    assert fields.options["is_pool_fixed"].isHidden()
    store.apply([ModelAdjusted(t_ns=2 * 10**9, info=replace(_MODEL, routing=Routing.RESIDENT))])
    panel.show_asked(replace(_ASKED, routing=Routing.RESIDENT), (_REMOTE,))
    panel.draw(store)
    assert not fields.options["is_pool_fixed"].isHidden()
    assert fields.rows["is_pool_fixed"].state == "now learning"
    fields.options["is_pool_fixed"].setCurrentIndex(1)
    fields.options["is_pool_fixed"].activated.emit(1)
    assert fields.chosen.settings == replace(_ASKED, routing=Routing.RESIDENT, is_pool_fixed=True)
    assert fields.rows["is_pool_fixed"].state == "now learning · applies at once"


def test_a_bad_value_stays_and_is_named_beside_its_field(panel: BudgetPanel) -> None:
    _type(panel, "unit_tokens", "32")
    _type(panel, "ram_budget_bytes", "6")
    fields = _fields(panel)
    assert fields.rows["ram_budget_bytes"].fault == "⚠ “6” has no unit. Write 6 GiB or 6 MiB."
    assert fields.texts["ram_budget_bytes"].text() == "6"
    assert "“6” has no unit." in fields.texts["ram_budget_bytes"].accessibleDescription()
    assert fields.texts["unit_tokens"].text() == "32"
    assert not panel.reload.isEnabled()
    _type(panel, "ram_budget_bytes", "6 GiB")
    assert fields.rows["ram_budget_bytes"].fault == ""
    assert panel.reload.isEnabled()


def test_forecasts_are_asked_for_when_the_panel_is_drawn_and_after_a_change(
    qtbot: QtBot, panel: BudgetPanel, asked: list[LoadSettings]
) -> None:
    assert asked == [_ASKED]
    _type(panel, "pool_per_layer", "3")
    _type(panel, "pool_per_layer", "4")
    qtbot.waitUntil(lambda: asked == [_ASKED, replace(_ASKED, pool_per_layer=4)])


def test_a_forecast_is_put_beside_what_is_now(panel: BudgetPanel) -> None:
    now = replace(model_forecast(model_info()), hit_rate=0.25)
    panel.show_forecast(ForecastAnswer(_ASKED, now))
    _type(panel, "pool_per_layer", "4")
    wanted = _fields(panel).chosen.settings
    assert wanted is not None
    panel.show_forecast(ForecastAnswer(wanted, replace(now, pool_per_layer=(4, 4), hit_rate=0.5)))
    rows = {name: (before, after) for name, before, after in panel.forecast_rows}
    assert rows["slots per layer"] == ("2 of 8", "4 of 8")
    assert rows["hit rate expected"] == ("25 %", "50 %")


def test_an_overtaken_forecast_is_dropped(panel: BudgetPanel) -> None:
    _type(panel, "pool_per_layer", "4")
    panel.show_forecast(ForecastAnswer(replace(_ASKED, pool_per_layer=3), model_forecast(model_info())))
    rows = {name: after for name, _, after in panel.forecast_rows}
    assert rows["slots per layer"] == "n/a"


def test_a_load_that_would_be_refused_is_not_offered(panel: BudgetPanel) -> None:
    _type(panel, "ram_budget_bytes", "1 MiB")
    wanted = _fields(panel).chosen.settings
    assert wanted is not None
    error = BudgetError("1 MiB is too small.", "Raise the budget.").info
    panel.show_forecast(ForecastAnswer(wanted, error=error))
    assert _fields(panel).rows["ram_budget_bytes"].fault == "⚠ 1 MiB is too small. Raise the budget."
    assert not panel.reload.isEnabled()
    _type(panel, "ram_budget_bytes", "1 GiB")
    assert _fields(panel).rows["ram_budget_bytes"].fault == ""
    assert panel.reload.isEnabled()


def test_what_differs_is_said(panel: BudgetPanel, store: TelemetryStore) -> None:
    panel.show_asked(replace(_ASKED, pool_per_layer=6), ())
    store.apply(load_events(replace(model_info(), notes=("All experts fit.",)), 2))
    panel.draw(store)
    first, second = panel.differences.split("\n")
    assert first.startswith("• You asked for 6 slots per layer, the pools have 2:")
    assert second == "• All experts fit."


def test_changes_outlive_another_load_of_the_same_file_only(panel: BudgetPanel) -> None:
    _type(panel, "unit_tokens", "32")
    panel.show_asked(replace(_ASKED, ram_budget_bytes=GIB), ())
    assert _fields(panel).texts["unit_tokens"].text() == "32"
    assert _fields(panel).texts["ram_budget_bytes"].text() == "1 GiB"
    panel.show_asked(LoadSettings(Path("/models/other.gguf")), ())
    assert _fields(panel).texts["unit_tokens"].text() == ""


def test_routing_and_devices_are_chosen_too(qtbot: QtBot, panel: BudgetPanel) -> None:
    fields = _fields(panel)
    assert fields.texts["vram_budget_bytes"].isHidden()
    fields.devices.boxes[_REMOTE].click()
    assert not fields.texts["vram_budget_bytes"].isHidden()
    fields.options["routing"].setCurrentIndex(1)
    fields.options["routing"].activated.emit(1)
    _type(panel, "vram_budget_bytes", "2 GiB")
    assert fields.chosen.settings == replace(
        _ASKED, devices=(_REMOTE,), routing=Routing.RESIDENT, vram_budget_bytes=2 * GIB
    )
    assert set(fields.changed_names) == {"devices", "routing", "vram_budget_bytes"}
    device = DeviceInfo(_REMOTE, "memory", 4 * GIB, 2 * GIB, GIB, (4, 5))
    then = replace(model_forecast(_MODEL), devices=(device,), notes=("As found.",))
    panel.show_forecast(ForecastAnswer(fields.chosen.settings, then))
    assert panel.forecast_rows[-1] == (f"on {_REMOTE}", "n/a", "1 GiB, experts of 2 layers")
    assert panel.basis.endswith("As found.")


def test_after_a_failed_load_the_values_are_still_there(panel: BudgetPanel, store: TelemetryStore) -> None:
    _type(panel, "unit_tokens", "32")
    store.apply([ModelUnloaded(), state_event(3, EngineState.EMPTY)])
    panel.draw(store)
    assert _fields(panel).texts["unit_tokens"].text() == "32"
    assert panel.reload.text() == "Load"
    assert panel.reload.isEnabled()


def test_while_it_loads_no_other_load_is_offered(panel: BudgetPanel, store: TelemetryStore) -> None:
    _type(panel, "unit_tokens", "32")
    store.apply([state_event(3, EngineState.LOADING)])
    panel.draw(store)
    assert not panel.reload.isEnabled()


def test_the_fidelity_meter_stands_beside_the_routing(panel: BudgetPanel, store: TelemetryStore) -> None:
    assert panel.fidelity.isHidden()
    store.apply(
        [counters_event(2, ranks_routed=100, ranks_replaced=10, gate_mass_wanted=1.0, gate_mass_used=0.9)]
    )
    panel.draw(store)
    assert not panel.fidelity.isHidden()
    assert panel.fidelity.text().startswith("Resident routing, until it was switched off: 10 % of ranks")
    store.apply([ModelAdjusted(t_ns=3 * 10**9, info=replace(_MODEL, routing=Routing.RESIDENT))])
    panel.draw(store)
    assert panel.fidelity.text().startswith("Resident routing: 10 % of ranks replaced")


def test_a_recording_can_t_be_changed(panel: BudgetPanel, store: TelemetryStore) -> None:
    panel.is_live = False
    panel.draw(store)
    assert panel.about == "A recording shows how it was; its settings can’t be changed."
    assert _fields(panel).isHidden()
    assert panel.reload.isHidden()


def test_every_choice_says_why_on_demand(panel: BudgetPanel) -> None:
    for row in _fields(panel).rows.values():
        assert row.why == ""
        row.why_button.click()
        assert len(row.why) > 100


def test_graphics_cards_have_rows_only_where_there_are_any(panel: BudgetPanel, store: TelemetryStore) -> None:
    assert panel.card_rows == ()
    panel.show_cards(GpuSample(1 << 62, (GpuFacts(0, "Test Card", 1 << 30, 2 << 30),)))
    panel.draw(store)
    assert panel.card_rows[:2] == (("Test Card", ""), ("  memory used", "1 of 2 GiB"))
    panel.show_cards(None)
    panel.draw(store)
    assert panel.card_rows == ()


def test_tab_goes_through_the_fields_to_the_buttons(qtbot: QtBot, panel: BudgetPanel) -> None:
    _type(panel, "unit_tokens", "32")
    panel.activateWindow()
    fields = _fields(panel)
    fields.texts["ram_budget_bytes"].setFocus()
    reached = []
    while (focus := QApplication.focusWidget()) is not panel.undo and len(reached) < 40:
        assert focus is not None
        reached.append(focus)
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    rows = fields.rows
    assert reached[:4] == [
        fields.texts["ram_budget_bytes"], rows["ram_budget_bytes"].why_button,
        fields.texts["pool_per_layer"], rows["pool_per_layer"].why_button,
    ]  # fmt: skip
    assert reached[-3:] == [fields.devices.boxes[_REMOTE], rows["devices"].why_button, panel.reload]


def test_a_narrow_panel_puts_fields_below_their_titles(qtbot: QtBot, panel: BudgetPanel) -> None:
    panel.show_asked(_ASKED, (_REMOTE, "rpc:" + "a" * 200 + ":1"))
    field, title = _fields(panel).texts["pool_per_layer"], _fields(panel).rows["pool_per_layer"].title

    def is_below() -> bool:
        return field.y() >= title.geometry().bottom()

    for width, is_narrow in ((900, False), (1, True), (900, False)):
        panel.resize(width, 900)
        qtbot.waitUntil(lambda wanted=is_narrow: is_below() is wanted)  # type: ignore[misc] # a default
    assert panel.minimumSizeHint().width() < 400
