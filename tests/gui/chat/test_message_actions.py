"""Copying and looking at one message."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QTreeWidgetItem

from app.chat.details_dialog import DetailsDialog
from app.chat.plain_text import plain_text
from tests.support.running_chat import OpenChat, RunningChat
from tests.support.running_window import ANSWER, quick_backend

THINKING = "<think>\nhm, secret\n</think>\n\nThe **answer**."
SLOW = " ".join(["word"] * 300)


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def test_an_answer_is_copied_as_markdown_and_as_plain_text(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    chat.view.transcript.copy_wanted.emit(chat.messages[1].id)
    assert clipboard() == ANSWER.rstrip()
    chat.view.message_actions.copy(is_plain=True)
    assert clipboard() == "Title\nSome bold words."


def test_thinking_is_never_copied_nor_read_again(open_chat: OpenChat) -> None:
    chat = open_chat(lambda: quick_backend(default_answer=THINKING))
    chat.load()
    chat.ask("Hello")
    for is_plain, text in ((False, "The **answer**."), (True, "The answer.")):
        chat.view.message_actions.copy(is_plain=is_plain)
        assert clipboard() == text
    chat.ask("Again")
    # the answer's two words in four pieces of at most 8 letters, "Again", the headers and end marks
    first, second = (each.stats["prompt_tokens"] for each in chat.messages if each.stats)
    assert second - first < 16


def test_an_answer_is_copied_while_it_streams(open_chat: OpenChat) -> None:
    chat = open_chat(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=0.005))
    chat.load()
    chat.say("Talk")
    chat.until(lambda: chat.transcript.count("word") >= 3)
    chat.view.copy_last_answer()
    assert SLOW.startswith(clipboard())
    assert clipboard().count("word") >= 3
    chat.until_idle()


def test_a_user_s_message_is_copied_as_it_was_written(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.say("a **b** <think>c</think>")
    for is_plain in (False, True):
        chat.view.message_actions.copy(chat.messages[0].id, is_plain)
        assert clipboard() == "a **b** <think>c</think>"


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("# A\n\n*b* `c`", "A\nb c"),
        ("```py\nx = 1\n\ny = 2\n```", "x = 1\n\ny = 2"),
        ("- a\n- b", "a\nb"),
        ("<b>raw</b> [link](http://a.b)", "<b>raw</b> link"),
        ("", ""),
    ],
)
def test_plain_text(markdown: str, plain: str) -> None:
    assert plain_text(markdown) == plain


# --- details --------------------------------------------------------------------------------------


def details_of(chat: RunningChat) -> DetailsDialog:
    return next(each for each in chat.view.findChildren(DetailsDialog) if each.isVisible())


def rows_of(dialog: DetailsDialog) -> dict[str, dict[str, str]]:
    def below(item: QTreeWidgetItem) -> dict[str, str]:
        children = [item.child(n) for n in range(item.childCount())]
        return {child.text(0): child.text(1) for child in children}

    items = [dialog.table.topLevelItem(n) for n in range(dialog.table.topLevelItemCount())]
    return {item.text(0): below(item) for item in items}


def test_details_of_an_answer(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    chat.view.transcript.details_wanted.emit(chat.messages[1].id)
    dialog = details_of(chat)
    rows = rows_of(dialog)
    assert list(rows) == ["Message", "Tokens", "Time to first token", "Speed and disk", "Settings used"]
    assert rows["Message"]["Model"].startswith("Simulated")
    assert rows["Tokens"]["From cache"] == "0"
    assert "Reading the prompt" in rows["Time to first token"]
    assert rows["Settings used"]["Temperature"] == "0.7"
    buttons = {each.text().replace("&", ""): each for each in dialog.findChildren(QPushButton)}
    buttons["Copy the figures"].click()
    assert f"  Model: {rows['Message']['Model']}\n" in clipboard()
    buttons["Copy as plain text"].click()
    assert clipboard() == "Title\nSome bold words."
    buttons["Close"].click()


def test_details_of_a_message_without_figures(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.say("Hello")
    chat.view.message_actions.show_details(chat.messages[0].id)
    assert list(rows_of(details_of(chat))) == ["Message"]
    details_of(chat).accept()
