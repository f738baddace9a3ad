"""From the budget controls to a reload, with a simulated engine behind it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtWidgets import QMessageBox, QPushButton

from app.load_fields import LoadFields
from engine.config import GIB
from tests.support.running_window import ANSWER, OpenWindow, RunningWindow, quick_backend


def open_budget(scene: RunningWindow) -> LoadFields:
    """Bring the Budget page to the front; its form is drawn then."""
    inspector = scene.window.inspector
    inspector._tabs.setCurrentIndex(inspector._tabs.count() - 1)
    panel = inspector.budget
    scene.until(lambda: panel.fields is not None and panel.fields.isVisible())
    assert panel.fields is not None
    return panel.fields


def type_budget(fields: LoadFields, text: str) -> None:
    field = fields.texts["ram_budget_bytes"]
    field.setText(text)
    field.textEdited.emit(text)


def reload_in_mid_answer(scene: RunningWindow) -> tuple[LoadFields, QMessageBox]:
    """Ask for another budget while an answer is written; the question that comes."""
    scene.load()
    fields = open_budget(scene)
    scene.say("Hello")
    scene.until(lambda: scene.window.chat.answering.is_busy)
    type_budget(fields, "5 GiB")
    scene.window.inspector.budget.reload.click()
    (box,) = scene.dialogs()
    return fields, box


def press(box: QMessageBox, text: str) -> None:
    next(each for each in box.findChildren(QPushButton) if each.text() == text).click()


def test_a_reload_keeps_the_chat_and_is_remembered(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    scene.say("Hello")
    scene.until_idle()
    fields = open_budget(scene)
    type_budget(fields, "5 GiB")
    panel = scene.window.inspector.budget
    scene.until(lambda: dict(row[::2] for row in panel.forecast_rows)["memory budget"] == "5 GiB")
    panel.reload.click()
    scene.until(lambda: not scene.window.models.is_loading)
    model = scene.window.models.model
    assert model is not None
    assert model.ram_budget_bytes == 5 * GIB
    assert scene.statuses() == [("user", "Hello", "complete"), ("assistant", ANSWER, "complete")]
    assert "Hello" in scene.transcript
    # 2 GiB dense weights, 768 MiB context, 256 MiB buffers: 2 GiB for slots of 6 MiB, less the window
    pool = f"{model.slot_classes[0].pool_per_layer} of 64"
    scene.until(lambda: ("slots per layer", pool, pool) in panel.forecast_rows)
    assert (
        scene.window.models.asked_for(scene.window._surroundings.simulated.path).ram_budget_bytes == 5 * GIB
    )


def test_an_answer_in_the_making_is_asked_about(open_window: OpenWindow) -> None:
    scene = open_window(partial(quick_backend, decode_token_seconds=0.02))
    _, box = reload_in_mid_answer(scene)
    assert box.text() == "An answer is being written."
    press(box, "After the answer")
    scene.until(lambda: scene.window.models.model is not None and not scene.window.models.is_loading)
    assert scene.window.models.model.ram_budget_bytes == 5 * GIB
    assert scene.statuses()[-1] == ("assistant", ANSWER, "complete")


def test_an_answer_can_be_stopped_for_a_reload(open_window: OpenWindow) -> None:
    scene = open_window(partial(quick_backend, decode_token_seconds=600.0))
    _, box = reload_in_mid_answer(scene)
    press(box, "Stop it and reload")
    scene.until(lambda: scene.window.models.model is not None and not scene.window.models.is_loading)
    assert scene.window.models.model.ram_budget_bytes == 5 * GIB
    assert scene.statuses()[-1][2] == "stopped"


def test_cancel_leaves_answer_and_values(open_window: OpenWindow) -> None:
    scene = open_window(partial(quick_backend, decode_token_seconds=0.02))
    fields, box = reload_in_mid_answer(scene)
    box.reject()
    scene.until_idle()
    assert scene.statuses()[-1] == ("assistant", ANSWER, "complete")
    assert fields.texts["ram_budget_bytes"].text() == "5 GiB"
    assert not scene.window.models.is_loading


def test_what_needs_no_reload_is_applied_and_remembered(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    scene.say("Hello")
    scene.until_idle()
    fields, models = open_budget(scene), scene.window.models
    before, panel = models.model, scene.window.inspector.budget
    assert before is not None
    for name, text in (("unit_tokens", "3"), ("hot_per_layer", "2")):
        fields.texts[name].setText(text)
        fields.texts[name].textEdited.emit(text)
    assert panel.reload.text() == "Apply"
    panel.reload.click()
    assert models.adjusting is not None
    scene.until(lambda: models.adjusting is None)
    assert not models.is_loading
    assert models.model is not None
    assert (models.model.unit_tokens, models.model.slot_classes[0].hot_per_layer) == (3, 2)
    assert models.model.slots_bytes == before.slots_bytes
    scene.until(lambda: fields.rows["unit_tokens"].state == "now 3 tokens")
    assert fields.changed_names == []
    remembered = models.asked_for(scene.window._surroundings.simulated.path)
    assert (remembered.unit_tokens, remembered.hot_per_layer) == (3, 2)
    assert "unit 3 tokens" in models.line
    assert scene.statuses() == [("user", "Hello", "complete"), ("assistant", ANSWER, "complete")]


def test_settings_apply_after_the_answer_without_a_question(open_window: OpenWindow) -> None:
    scene = open_window(partial(quick_backend, decode_token_seconds=0.02))
    scene.load()
    fields, models = open_budget(scene), scene.window.models
    scene.say("Hello")
    scene.until(lambda: scene.window.chat.answering.is_busy)
    fields.texts["unit_tokens"].setText("3")
    fields.texts["unit_tokens"].textEdited.emit("3")
    scene.window.inspector.budget.reload.click()
    assert scene.dialogs() == []
    scene.until(lambda: models.adjusting is None)
    assert models.model is not None
    assert models.model.unit_tokens == 3
    assert scene.statuses()[-1] == ("assistant", ANSWER, "complete")


def test_settings_that_wait_for_an_answer_can_be_undone(open_window: OpenWindow) -> None:
    scene = open_window(partial(quick_backend, decode_token_seconds=600.0))
    scene.load()
    fields, models = open_budget(scene), scene.window.models
    panel = scene.window.inspector.budget
    before = models.model
    scene.say("Hello")
    scene.until(lambda: scene.window.chat.answering.is_busy)
    fields.texts["unit_tokens"].setText("3")
    fields.texts["unit_tokens"].textEdited.emit("3")
    panel.reload.click()
    scene.until(lambda: fields.rows["unit_tokens"].state.endswith("· will apply after this answer"))
    panel.undo.click()
    scene.until(lambda: models.adjusting is None)
    scene.window.stop()
    scene.until_idle()
    assert scene.dialogs() == []
    assert models.model == before
    assert fields.changed_names == []


def test_settings_that_are_refused_stay_in_the_form(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    fields, models = open_budget(scene), scene.window.models
    assert models.last is not None
    models.adjust(replace(models.last, context_tokens=512))
    scene.until(lambda: bool(scene.dialogs()))
    (box,) = scene.dialogs()
    assert box.windowTitle() == "The settings can’t be applied"
    assert models.adjusting is None
    assert models.last.context_tokens is None
    assert fields.changed_names == []


def test_a_reload_leaves_the_focus_in_the_inspector(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    fields = open_budget(scene)
    type_budget(fields, "5 GiB")
    fields.texts["ram_budget_bytes"].setFocus()
    scene.window.inspector.budget.reload_wanted.emit(fields.chosen.settings)
    scene.until(lambda: not scene.window.models.is_loading)
    assert scene.window.focusWidget() is fields.texts["ram_budget_bytes"]
