"""While an input method composes, Enter never submits and Escape never closes, in any text field."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from app.command_palette import PaletteField
from app.history.records import ChatSettings
from app.name_dialog import NameDialog
from tests.support.running_window import OpenWindow, RunningWindow

Field = QLineEdit | QPlainTextEdit | QAbstractSpinBox
ENDING_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)


def fields(root: QWidget) -> list[Field]:
    """Everything on the screen that text can be typed into."""
    found: list[Field] = []
    for each in root.findChildren(QWidget):
        is_part = isinstance(each.parent(), QAbstractSpinBox) or each.window() is not root
        is_typed_in = isinstance(each, QLineEdit | QPlainTextEdit | QAbstractSpinBox)
        is_typed_in |= isinstance(each, QTextEdit) and not each.isReadOnly()
        if is_typed_in and each.isVisible() and each.isEnabled() and not is_part:
            found.append(each)  # type: ignore[arg-type]
    return found


def compose(field: Field, text: str) -> None:
    QApplication.sendEvent(field, QInputMethodEvent(text, []))


def commit(field: Field, text: str) -> None:
    event = QInputMethodEvent()
    event.setCommitString(text)
    QApplication.sendEvent(field, event)


def text_of(field: Field) -> str:
    return field.toPlainText() if isinstance(field, QPlainTextEdit) else field.text()


@pytest.fixture
def scene(open_window: OpenWindow) -> RunningWindow:
    opened = open_window()
    opened.load()
    opened.say("Hello")
    opened.until_idle()
    opened.store.save_preset("Brief", ChatSettings("Be brief."))
    return opened


def keep_all(scene: RunningWindow, root: QWidget, field: Field) -> None:
    """Press what ends a composition, then commit; nothing but the text of the field may change."""
    before, messages = text_of(field), scene.statuses()
    field.setFocus()
    scene.until(field.hasFocus)
    compose(field, "せんもん")
    for key in ENDING_KEYS:
        scene.qtbot.keyClick(field, key)
        assert root.isVisible()
        assert field.isVisible()
        assert field.hasFocus()
    assert scene.statuses() == messages
    commit(field, "専門" if not isinstance(field, QAbstractSpinBox) else "")
    if not isinstance(field, QAbstractSpinBox):
        assert "専門" in text_of(field)
        assert "\n" not in text_of(field).replace(before, "")
    assert scene.statuses() == messages


def test_every_field_of_the_window(scene: RunningWindow) -> None:
    scene.press(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    found = fields(scene.window)
    names = {each.accessibleName() for each in found}
    assert {"Message", "Search conversations", "Find in this conversation"} <= names
    for field in found:
        keep_all(scene, scene.window, field)


def test_escape_while_composing_does_not_stop_the_answer(scene: RunningWindow) -> None:
    stopped: list[bool] = []
    scene.window._menus.actions["Stop"].triggered.connect(lambda: stopped.append(True))
    composer = scene.window.chat.view.composer
    composer.setFocus()
    scene.until(composer.hasFocus)
    compose(composer, "せんもん")
    scene.qtbot.keyClick(composer, Qt.Key.Key_Escape)
    assert stopped == []
    commit(composer, "専門")
    scene.qtbot.keyClick(composer, Qt.Key.Key_Escape)
    assert len(stopped) == 1


def test_the_editor_of_a_title(scene: RunningWindow) -> None:
    scene.press(Qt.Key.Key_F2)
    tree = scene.window.chat.conversations.tree
    editor = tree.viewport().findChild(QLineEdit)
    editor.selectAll()
    compose(editor, "せんもん")
    for key in ENDING_KEYS:
        scene.qtbot.keyClick(editor, key)
        assert tree.is_renaming
    commit(editor, "専門")
    scene.qtbot.keyClick(editor, Qt.Key.Key_Return)
    scene.until(lambda: scene.store.conversations()[0].title == "専門")


def open_by(name: str) -> Callable[[RunningWindow], None]:
    return lambda scene: scene.window._menus.actions[name].trigger()


DIALOGS: dict[str, Callable[[RunningWindow], None]] = {
    "settings": open_by("Settings"),
    "conversation settings": open_by("Settings of this conversation"),
    "palette": open_by("Command palette"),
    "name": lambda scene: NameDialog("New folder", "Name of the folder", "", scene.window).open(),
    "load": lambda scene: scene.window.models.ask_settings(scene.window._surroundings.data_dir, scene.window),
}


@pytest.mark.parametrize("name", DIALOGS)
def test_every_field_of_a_dialog(scene: RunningWindow, name: str) -> None:
    DIALOGS[name](scene)
    scene.until(lambda: any(each.isVisible() for each in scene.window.findChildren(QDialog)))
    dialog = next(each for each in scene.window.findChildren(QDialog) if each.isVisible())
    found = fields(dialog)
    assert found
    for field in found:
        keep_all(scene, dialog, field)
    dialog.close()


def test_the_arrow_keys_stay_with_the_candidates(scene: RunningWindow) -> None:
    scene.window._menus.actions["Command palette"].trigger()
    dialog = next(each for each in scene.window.findChildren(QDialog) if each.isVisible())
    field = dialog.findChild(PaletteField)
    walked: list[object] = []
    field.list_key.connect(walked.append)
    compose(field, "てん")
    scene.qtbot.keyClick(field, Qt.Key.Key_Down)
    assert walked == []
    commit(field, "")
    scene.qtbot.keyClick(field, Qt.Key.Key_Down)
    assert len(walked) == 1
    dialog.close()
