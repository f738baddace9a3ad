"""Files in a message: paste, drop, chips with their cost, refusals in words, drafts, and what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QToolButton

from app.history.records import Attachment
from tests.support.running_chat import OpenChat, RunningChat
from tests.support.running_window import quick_backend


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "ノート.txt"
    path.write_text("alpha beta gamma\n", "utf-8")
    return path


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def chips(chat: RunningChat) -> list[str]:
    return [chip.text for chip in chat.view.panel.attachments.chips]


def test_a_pasted_file_becomes_a_chip_with_its_cost_and_goes_along(open_chat: OpenChat, notes: Path) -> None:
    chat = open_chat(lambda: quick_backend(answers=(("gamma", "I read it."),)))
    chat.load()
    chat.view.composer.insertFromMimeData(files(notes))
    # name, fence with language, three words, fence
    chat.until(lambda: chips(chat) == ["ノート.txt · 6 tokens"])
    chat.ask("What is in it?")
    assert chat.messages[0].attachments == (Attachment("ノート.txt", "alpha beta gamma\n"),)
    assert chat.texts == ["What is in it?", "I read it."]
    assert chips(chat) == []
    assert not chat.view.panel.attachments.isVisible()


def test_a_file_can_be_sent_without_words(open_chat: OpenChat, notes: Path) -> None:
    chat = open_chat()
    chat.load()
    chat.view.panel.attach([notes])
    chat.ask("")
    assert [each.role for each in chat.messages] == ["user", "assistant"]
    assert chat.store.conversations()[0].title == "ノート.txt"


def test_a_dropped_file_lands_in_the_composer_wherever_it_falls(open_chat: OpenChat, notes: Path) -> None:
    chat = open_chat()
    data = files(notes)
    place, action = QPointF(200, 100), Qt.DropAction.CopyAction
    button, modifiers = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place.toPoint(), action, data, button, modifiers)
    QApplication.sendEvent(chat.view, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(chat.view, QDropEvent(place, action, data, button, modifiers))
    assert chips(chat) == ["ノート.txt · 17 characters"]


def test_a_file_dropped_into_the_text_is_attached_and_not_written(open_chat: OpenChat, notes: Path) -> None:
    chat = open_chat()
    data, place = files(notes), QPointF(20, 10)
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    viewport = chat.view.composer.viewport()
    QApplication.sendEvent(viewport, QDragEnterEvent(place.toPoint(), copy, data, left, none))
    QApplication.sendEvent(viewport, QDropEvent(place, copy, data, left, none))
    assert chips(chat) == ["ノート.txt · 17 characters"]
    assert chat.view.composer.toPlainText() == ""


def test_a_dropped_model_is_left_to_the_window(open_chat: OpenChat, tmp_path: Path) -> None:
    chat = open_chat()
    data = files(tmp_path / "model.gguf")
    enter = QDragEnterEvent(
        QPointF(200, 100).toPoint(), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(chat.view, enter)
    assert not enter.isAccepted()


def test_what_cannot_be_attached_is_said_and_the_rest_is_taken(
    open_chat: OpenChat, notes: Path, tmp_path: Path
) -> None:
    chat = open_chat()
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    chat.view.panel.attach([picture, notes, tmp_path / "gone.txt"])
    assert chips(chat) == ["ノート.txt · 17 characters"]
    assert "“picture.png” is not a text file." in chat.notice
    assert "“gone.txt” can’t be read" in chat.notice


def test_a_chip_s_button_removes_it(open_chat: OpenChat, notes: Path, tmp_path: Path) -> None:
    chat = open_chat()
    other = tmp_path / "b.txt"
    other.write_text("b")
    chat.view.panel.attach([notes, other, notes])
    assert len(chips(chat)) == 2  # the same file once
    buttons = chat.view.panel.attachments.findChildren(QToolButton)
    remove = next(each for each in buttons if each.accessibleName() == "Remove the attachment ノート.txt")
    remove.click()
    assert chips(chat) == ["b.txt · 1 characters"]


def test_the_row_of_chips_is_higher_only_where_it_must_scroll(open_chat: OpenChat, tmp_path: Path) -> None:
    chat = open_chat()
    paths = [tmp_path / f"{number} a rather long name of a file.txt" for number in range(9)]
    for path in paths:
        path.write_text(path.name)
    bar = chat.view.panel.attachments
    chat.view.panel.attach(paths[:1])
    alone = bar.height()
    assert alone == bar.chips[0].sizeHint().height()
    chat.view.panel.attach(paths[1:])
    assert bar.height() > alone


def test_there_is_a_limit_to_the_number_of_files(open_chat: OpenChat, tmp_path: Path) -> None:
    chat = open_chat()
    paths = [tmp_path / f"{number}.txt" for number in range(21)]
    for path in paths:
        path.write_text(path.name)
    chat.view.panel.attach(paths)
    assert len(chips(chat)) == 20
    assert "“20.txt” is one too many" in chat.notice


def test_drafts_keep_their_files_over_a_switch_and_a_restart(open_chat: OpenChat, notes: Path) -> None:
    chat = open_chat()
    chat.say("First")
    first = chat.view.conversation_id
    chat.write("about the file")
    chat.view.panel.attach([notes])
    chat.chat.begin_new()
    assert chips(chat) == []
    assert chat.view.composer.toPlainText() == ""
    again = open_chat()
    again.chat.open(first)
    assert chips(again) == ["ノート.txt · 17 characters"]
    assert again.view.composer.toPlainText() == "about the file"


def test_a_draft_is_on_disk_soon_after_the_last_key(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.qtbot.keyClicks(chat.view.composer, "not lost")
    chat.until(lambda: chat.store.draft(None) == "not lost")


def test_editing_a_message_brings_its_files(open_chat: OpenChat, notes: Path) -> None:
    chat = open_chat()
    chat.load()
    chat.view.panel.attach([notes])
    chat.ask("Look")
    chat.view.message_actions.edit()
    assert [name.split(" · ")[0] for name in chips(chat)] == ["ノート.txt"]
    chat.view.panel.attachments.show_attachments([])
    chat.ask("Never mind")
    assert chat.messages[0].attachments == ()
