"""The list of conversations: rename, duplicate, pin, folders, delete with undo, search; by keyboard too."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPushButton

from app.chat.conversation_tree import ConversationTree
from app.chat.row_words import RowWords
from app.name_dialog import NameDialog
from tests.support.running_window import OpenWindow, RunningWindow, quick_backend

CTRL = Qt.KeyboardModifier.ControlModifier


def rows(scene: RunningWindow) -> ConversationTree:
    return scene.window.chat.conversations.tree


def titles(scene: RunningWindow) -> list[str]:
    return scene.window.chat.conversations.titles()


def conversations(scene: RunningWindow, *texts: str) -> list[int]:
    """One for each text, without a model; the last one is shown."""
    for text in texts:
        scene.window.chat.begin_new()
        scene.say(text)
    return [each.id for text in texts for each in scene.store.conversations() if each.title == text]


def entry(scene: RunningWindow, text: str) -> QAction:
    """An entry of the conversation menu, as it is when the menu opens."""
    scene.window.conversation_menu.show_state()
    return scene.window._menus.actions[text]


def folder_entry(scene: RunningWindow, text: str) -> QAction:
    scene.window.conversation_menu.show_state()
    menu = next(m for m in scene.window.menuBar().findChildren(QMenu) if m.title() == "&Move to folder")
    return next(action for action in menu.actions() if action.text() == text)


@pytest.fixture
def scene(open_window: OpenWindow) -> RunningWindow:
    return open_window()


def test_delete_needs_ctrl_and_comes_back_by_undo(scene: RunningWindow) -> None:
    scene.load()
    scene.say("Keep me")
    scene.until(lambda: len(scene.statuses()) == 2)
    scene.until_idle()
    rows(scene).setFocus()
    scene.qtbot.keyClick(rows(scene), Qt.Key.Key_Delete)
    scene.qtbot.keyClick(rows(scene), Qt.Key.Key_Backspace)
    assert titles(scene) == ["Keep me"]
    scene.qtbot.keyClick(rows(scene), Qt.Key.Key_Backspace, CTRL)
    assert titles(scene) == []
    assert scene.window.notice.text == "“Keep me” was deleted."
    undo = next(b for b in scene.window.notice.findChildren(QPushButton) if b.text() == "&Undo")
    scene.qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert titles(scene) == ["Keep me"]
    assert "Keep me" in scene.transcript


def test_a_title_is_edited_in_place(scene: RunningWindow) -> None:
    conversations(scene, "Old title")
    scene.press(Qt.Key.Key_F2)
    editor = rows(scene).viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "Old title"
    editor.setText("専門 title")
    scene.window.chat.show_list()
    assert editor.text() == "専門 title"
    scene.qtbot.keyClick(editor, Qt.Key.Key_Return)
    scene.until(lambda: scene.store.conversations()[0].title == "専門 title")
    scene.until(lambda: titles(scene) == ["専門 title"])


def test_escape_leaves_the_title_as_it_was(scene: RunningWindow) -> None:
    conversations(scene, "Old title")
    scene.press(Qt.Key.Key_F2)
    editor = rows(scene).viewport().findChild(QLineEdit)
    editor.setText("Not this")
    scene.qtbot.keyClick(editor, Qt.Key.Key_Escape)
    scene.until(lambda: not rows(scene).is_renaming)
    assert scene.store.conversations()[0].title == "Old title"


def test_renaming_asks_where_the_list_is_hidden(scene: RunningWindow) -> None:
    conversations(scene, "Old title")
    scene.window._layout.conversations.hide()
    entry(scene, "Rename").trigger()
    dialog = scene.window.findChild(NameDialog)
    assert dialog.field.text() == "Old title"
    dialog.field.setText("New title")
    dialog.accept()
    assert scene.store.conversations()[0].title == "New title"


def test_a_pinned_conversation_stays_on_top(scene: RunningWindow) -> None:
    conversations(scene, "One", "Two", "Three")
    scene.window.chat.open(scene.store.conversations()[-1].id)
    assert titles(scene) == ["Three", "Two", "One"]
    entry(scene, "Pin on top").trigger()
    assert titles(scene) == ["One", "Three", "Two"]
    assert rows(scene).headings() == ["Pinned", "Other conversations"]
    assert entry(scene, "Pin on top").isChecked()
    entry(scene, "Pin on top").trigger()
    assert (titles(scene), rows(scene).headings()) == (["Three", "Two", "One"], [])


def test_folders_by_menu(scene: RunningWindow) -> None:
    conversations(scene, "One", "Two")
    folder_entry(scene, "New folder…").trigger()
    dialog = scene.window.findChild(NameDialog)
    dialog.field.setText("旅行 & more")
    dialog.accept()
    assert rows(scene).headings() == ["旅行 & more", "Other conversations"]
    scene.window.chat.open(scene.store.conversations()[-1].id)
    folder_entry(scene, "旅行 && more").trigger()
    assert {each.folder for each in scene.store.conversations()} == {"旅行 & more"}
    assert folder_entry(scene, "旅行 && more").isChecked()
    folder_entry(scene, "No folder").trigger()
    assert sorted(each.folder for each in scene.store.conversations()) == ["", "旅行 & more"]


def test_a_row_dropped_on_a_heading_moves_there(scene: RunningWindow) -> None:
    first, second = conversations(scene, "One", "Two")
    scene.window.chat.set_folder(first, "Work")
    scene.window.chat.set_pinned(second, True)
    scene.window.chat.show_list()
    tree = rows(scene)
    group = tree._group_at(tree.visualItemRect(tree.topLevelItem(1)).center())
    assert group is not None
    tree.drop_into(second, group)
    moved = {each.id: (each.folder, each.is_pinned) for each in scene.store.conversations()}
    assert moved == {first: ("Work", False), second: ("Work", False)}


def test_a_folder_that_was_closed_stays_closed(scene: RunningWindow) -> None:
    first, _ = conversations(scene, "One", "Two")
    scene.window.chat.set_folder(first, "Work")
    rows(scene).topLevelItem(0).setExpanded(False)
    scene.window.chat.show_list()
    assert not rows(scene).topLevelItem(0).isExpanded()
    assert rows(scene).topLevelItem(1).isExpanded()


def test_a_duplicate_is_shown_and_leaves_the_first_alone(scene: RunningWindow) -> None:
    (first,) = conversations(scene, "One")
    entry(scene, "Duplicate").trigger()
    shown = scene.window.chat.view.conversation_id
    assert shown not in (None, first)
    assert len(scene.store.messages(shown)) == len(scene.store.messages(first)) == 1
    assert scene.window.conversation_menu.current().id == shown


def test_the_menu_opens_by_keyboard_at_the_row(scene: RunningWindow) -> None:
    conversations(scene, "One")
    tree = rows(scene)
    tree.setFocus()
    item = tree.visualItemRect(tree.item_of(scene.window.chat.view.conversation_id))
    menu = scene.window.conversation_menu._menu
    below = tree.viewport().mapToGlobal(item.bottomLeft())
    scene.qtbot.keyClick(tree, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    assert menu.isVisible()
    assert menu.pos() == below
    menu.hide()
    by_key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), QPoint(1, 1))
    QApplication.sendEvent(tree.viewport(), by_key)
    assert menu.isVisible()
    scene.qtbot.keyClick(menu, Qt.Key.Key_Escape)
    assert not menu.isVisible()


def test_without_a_conversation_the_menu_offers_nothing(scene: RunningWindow) -> None:
    for text in ("Rename", "Duplicate", "Pin on top", "Delete", "As Markdown"):
        assert not entry(scene, text).isEnabled()


def test_a_row_says_that_its_answer_is_made(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer="word " * 400, decode_token_seconds=0.02))
    scene.load()
    scene.say("Talk")
    scene.until(lambda: titles(scene) == ["● Talk"])
    item = rows(scene).item_of(scene.window.chat.view.conversation_id)
    assert item.data(0, Qt.ItemDataRole.AccessibleTextRole) == "Talk, answering"
    scene.window.stop()
    scene.until(lambda: titles(scene) == ["Talk"])


@pytest.mark.parametrize(("word", "found"), [("needles", "First one"), ("専門", "二番目"), ("猫", "二番目")])
def test_search_finds_and_marks_words_in_messages(scene: RunningWindow, word: str, found: str) -> None:
    conversations(scene, "First one\nabout needles", "二番目\nこれは専門の猫です")
    scene.window.chat.conversations.search_field.setText(word)
    scene.until(lambda: len(titles(scene)) == 1)
    assert titles(scene)[0].startswith(f"{found}\n")
    words = rows(scene).topLevelItem(0).data(0, Qt.ItemDataRole.UserRole + 2)
    assert isinstance(words, RowWords)
    assert words.lines[1][words.mark_start : words.mark_end] == word


def test_a_hit_opens_at_the_word(scene: RunningWindow) -> None:
    conversations(scene, "First one\nabout needles", "Another")
    scene.window.chat.conversations.search_field.setText("needles about")
    scene.until(lambda: len(titles(scene)) == 1)
    rows(scene).setCurrentItem(rows(scene).topLevelItem(0))
    transcript = scene.window.chat.view.transcript
    assert transcript.textCursor().selectedText() == "needles"
    assert scene.window.find_bar.count_words == "1 match"
    assert not scene.window.find_bar.field.hasFocus()


def test_the_mark_is_painted(scene: RunningWindow) -> None:
    conversations(scene, "First one\nabout needles", "Another")
    scene.window.chat.conversations.search_field.setText("needles")
    scene.until(lambda: len(titles(scene)) == 1)
    tree = rows(scene)
    image = tree.viewport().grab(tree.visualItemRect(tree.topLevelItem(0))).toImage()
    highlight = tree.palette().highlight().color()
    marked = sum(
        image.pixelColor(x, y) == highlight for x in range(image.width()) for y in range(image.height())
    )
    assert marked > 50


def test_enter_in_the_search_goes_to_the_rows_and_escape_ends_it(scene: RunningWindow) -> None:
    conversations(scene, "First one", "Second one")
    field = scene.window.chat.conversations.search_field
    scene.press(Qt.Key.Key_F, CTRL | Qt.KeyboardModifier.ShiftModifier)
    scene.until(field.hasFocus)
    scene.qtbot.keyClicks(field, "first")
    scene.qtbot.keyClick(field, Qt.Key.Key_Return)
    scene.until(rows(scene).hasFocus)
    assert scene.window.conversation_menu.current().title == "First one"
    field.setFocus()
    scene.qtbot.keyClick(field, Qt.Key.Key_Escape)
    scene.until(lambda: len(titles(scene)) == 2)


def test_nothing_found_is_said(scene: RunningWindow) -> None:
    conversations(scene, "First one")
    scene.window.chat.conversations.search_field.setText("qqq")
    scene.until(lambda: titles(scene) == [])
    assert scene.window.chat.conversations._none_found.isVisible()


def test_enter_on_a_row_goes_on_to_the_composer(scene: RunningWindow) -> None:
    conversations(scene, "First one")
    rows(scene).setFocus()
    scene.qtbot.keyClick(rows(scene), Qt.Key.Key_Return)
    scene.until(scene.window.chat.view.composer.hasFocus)


def test_the_list_stands_on_what_is_opened_from_elsewhere(scene: RunningWindow) -> None:
    first, second = conversations(scene, "One", "Two")
    scene.window.chat.open(first)
    assert rows(scene).current_id == first
    scene.window.chat.open(second)
    assert rows(scene).current_id == second
    scene.window.chat.begin_new()
    assert rows(scene).current_id is None
