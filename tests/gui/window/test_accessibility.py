"""Screen readers get a name for every control, the keyboard gets to every control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton, QToolButton, QWidget

from app.chat.overflow_dialog import OverflowDialog
from app.chat.prompt_fit import Fit
from app.fault_dialog import show_fault
from app.history.records import ChatSettings
from app.models.load_dialog import LoadDialog
from app.name_dialog import NameDialog
from engine.config import ChatMessage, LoadSettings
from engine.errors import ErrorInfo
from tests.support.accessible_tree import nameless, roles
from tests.support.running_window import OpenWindow, RunningWindow

_Role = QAccessible.Role
_FIT = Fit(4096, 5000, (ChatMessage("user", "Hello"),), 4, 2000)


@pytest.fixture(autouse=True)
def screen_reader() -> Iterator[None]:
    """Qt builds its tree only while somebody asks for it."""
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(False)


@pytest.fixture
def scene(open_window: OpenWindow) -> RunningWindow:
    """A window with everything on the screen: a folder, a pin, an answer, the find bar, a notice."""
    opened = open_window()
    opened.load()
    for text in ("One", "Two", "Three"):
        opened.window.chat.begin_new()
        opened.say(text)
        opened.until_idle()
    numbers = [each.id for each in opened.store.conversations()]
    opened.window.chat.set_folder(numbers[0], "Work")
    opened.window.chat.set_pinned(numbers[1], True)
    opened.store.save_preset("Brief", ChatSettings("Be brief.", temperature=0.2))
    opened.window.find_bar.open_bar("bold")
    opened.window.notice.show_notice("News", "Undo", lambda: None)
    return opened


def test_every_control_of_the_window_has_a_name(scene: RunningWindow) -> None:
    assert nameless(scene.window) == []
    assert {_Role.Tree, _Role.EditableText, _Role.Button, _Role.MenuBar, _Role.PageTab} <= roles(scene.window)


def test_every_control_of_the_start_page_has_a_name(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window().window
    window.models.start_page.show_recent([tmp_path / "a.gguf"])
    assert nameless(window) == []


def test_every_menu_entry_has_a_name(scene: RunningWindow) -> None:
    for action in scene.window.menuBar().actions():
        assert nameless(action.menu()) == []


def open_by(name: str) -> Callable[[RunningWindow], None]:
    return lambda scene: scene.window._menus.actions[name].trigger()


def open_new_folder(scene: RunningWindow) -> None:
    NameDialog("New folder", "Name of the folder", "", scene.window).open()


def open_fault(scene: RunningWindow) -> None:
    show_fault(ErrorInfo("KindError", "It failed.", "Try again.", "details"), "Fault", scene.window)


def open_overflow(scene: RunningWindow) -> None:
    OverflowDialog(_FIT, ("leave_out", "new_conversation", "cancel"), scene.window).open()


def open_load(scene: RunningWindow) -> None:
    LoadDialog(LoadSettings(Path("a.gguf")), (), scene.window).open()


DIALOGS = {
    "settings": open_by("Settings"),
    "conversation settings": open_by("Settings of this conversation"),
    "palette": open_by("Command palette"),
    "shortcuts": open_by("Keyboard shortcuts"),
    "about": open_by("About Emberglass"),
    "model": open_by("About the loaded model"),
    "details": open_by("Details of the last answer"),
    "name": open_new_folder,
    "fault": open_fault,
    "load": open_load,
    "overflow": open_overflow,
}


def opened_dialog(scene: RunningWindow, name: str) -> QDialog:
    DIALOGS[name](scene)
    scene.until(lambda: any(each.isVisible() for each in scene.window.findChildren(QDialog)))
    return next(each for each in scene.window.findChildren(QDialog) if each.isVisible())


@pytest.mark.parametrize("name", DIALOGS)
def test_every_control_of_a_dialog_has_a_name(scene: RunningWindow, name: str) -> None:
    dialog = opened_dialog(scene, name)
    assert nameless(dialog) == []
    assert dialog.windowTitle()
    dialog.close()


@pytest.mark.parametrize("page", [0, 1, 2, 3])
def test_every_control_of_a_settings_page_has_a_name(scene: RunningWindow, page: int) -> None:
    dialog = opened_dialog(scene, "settings")
    dialog.pages.setCurrentIndex(page)
    assert nameless(dialog) == []
    assert unreachable(dialog) == []


# --- the keyboard ---------------------------------------------------------------------------------


def unreachable(root: QWidget) -> list[str]:
    """Visible controls that neither Tab nor the keys inside a reachable one get to."""
    ring, reached = root.nextInFocusChain(), set()
    while ring is not root:
        if ring.focusPolicy() & Qt.FocusPolicy.TabFocus:
            reached.add(ring)
        ring = ring.nextInFocusChain()
    return [
        f"{type(each).__name__} {each.accessibleName() or each.objectName()}"
        for each in root.findChildren(QWidget)
        if each.isVisible() and each.isEnabled() and is_control(each) and each not in reached
    ]


def is_control(widget: QWidget) -> bool:
    """Takes clicks by itself; parts of Qt's own controls (qt_..., their line edits and views) don't count."""
    interface = QAccessible.queryAccessibleInterface(widget)
    is_part = widget.objectName().startswith("qt_") or type(widget).__name__ in ("QHeaderView", "QMenuBar")
    # what a button inside a field does, the keys of the field do too
    is_part |= isinstance(widget.parent(), QLineEdit)
    is_part |= widget.focusProxy() is not None or type(widget).__name__ in ("QTabBar", "QScrollBar")
    kinds = {
        _Role.Button, _Role.CheckBox, _Role.RadioButton, _Role.ComboBox, _Role.EditableText, _Role.SpinBox,
        _Role.List, _Role.Tree, _Role.Table,
    }  # fmt: skip
    return interface is not None and interface.role() in kinds and not is_part


def test_tab_reaches_every_control_of_the_window(scene: RunningWindow) -> None:
    assert unreachable(scene.window) == []


@pytest.mark.parametrize("name", [name for name in DIALOGS if name != "palette"])
def test_tab_reaches_every_control_of_a_dialog(scene: RunningWindow, name: str) -> None:
    dialog = opened_dialog(scene, name)
    assert unreachable(dialog) == []
    dialog.close()


def test_tab_goes_through_the_window_in_the_order_it_is_read(scene: RunningWindow) -> None:
    """Conversations, then notice, header, find bar, messages, composer; then the inspector."""
    window, view = scene.window, scene.window.chat.view
    rows = window.chat.conversations
    wanted = [
        rows.new_button, rows.search_field, rows.tree, *window.notice.findChildren(QPushButton),
        *window.header.findChildren(QPushButton), window.find_bar.field, view.transcript, view.composer,
        *window.inspector.titleBarWidget().findChildren(QToolButton), window.inspector._pause,
    ]  # fmt: skip
    seen, ring = [], rows.new_button
    while ring not in seen:
        seen.append(ring)
        ring = ring.nextInFocusChain()
    assert [each for each in seen if each in wanted] == wanted
