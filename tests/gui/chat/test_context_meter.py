"""The meter shows what the engine would read: conversation, system prompt, draft and attachments."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.chat.context_meter import ContextMeter, meter_words
from app.history.records import Attachment, ChatSettings
from tests.support.running_chat import OpenChat, RunningChat


def settled_count(chat: RunningChat) -> int:
    """What the meter says after the last change."""
    before = chat.meter
    chat.until(lambda: chat.meter != before)
    return int(chat.meter.lstrip("⚠ ").split()[0].replace(",", ""))


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (10, "10 of 8,192 tokens"),
        (6900, "6,900 of 8,192 tokens"),
        (7000, "⚠ 7,000 of 8,192 tokens: nearly full, 1,192 left for the answer"),
        (7936, "⚠ 7,936 of 8,192 tokens: nearly full, 256 left for the answer"),
        (7940, "⚠ 7,940 of 8,192 tokens: 4 too many, sending will ask what to leave out"),
        (9000, "⚠ 9,000 of 8,192 tokens: 1,064 too many, sending will ask what to leave out"),
    ],
)
def test_it_warns_before_the_limit(tokens: int, words: str) -> None:
    assert meter_words(tokens, 8192) == words


def test_it_is_empty_while_nothing_can_be_counted(qtbot: QtBot) -> None:
    meter = ContextMeter()
    qtbot.addWidget(meter)
    meter.show_count(5, 10)
    assert meter.text
    meter.show_nothing()
    assert meter.text == ""


def test_the_count_of_a_draft_is_what_its_answer_reads(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.write("one two three")
    count = settled_count(chat)
    chat.ask("one two three")
    assert chat.messages[1].stats["prompt_tokens"] == count


def test_it_counts_conversation_system_prompt_and_attachments(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    settled_count(chat)
    chat.write("and now")
    plain = settled_count(chat)
    chat.store.set_settings(chat.view.conversation_id, ChatSettings("Be very kind."))
    chat.chat.settings_changed()
    with_system = settled_count(chat)
    assert with_system == plain + 5  # header, three words, end mark
    chat.view.panel.attachments.add(Attachment("a.txt", "alpha beta gamma"))
    chat.view.panel.changed.emit()
    with_file = settled_count(chat)
    assert with_file > with_system + 3
    chat.qtbot.keyClicks(chat.view.composer, "")
    chat.view.send()
    chat.until_idle()
    assert chat.messages[-1].stats["prompt_tokens"] == with_file


def test_it_follows_the_model(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.write("one two three")
    assert chat.meter == ""
    chat.load(2048)
    chat.until(lambda: "of 2,048 tokens" in chat.meter)
    chat.unload()
    chat.until(lambda: chat.meter == "")


def test_a_shown_conversation_is_counted_with_the_next_message_in_it(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    first = settled_count(chat)
    conversation_id = chat.view.conversation_id
    chat.chat.begin_new()
    chat.until(lambda: chat.meter == "")
    chat.chat.open(conversation_id)
    assert settled_count(chat) == first


def test_fast_typing_asks_the_engine_only_now_and_then(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = open_chat()
    chat.load()
    n_counts = 0
    count_tokens = chat.bridge.count_tokens

    def counting(messages: object) -> int:
        nonlocal n_counts
        n_counts += 1
        return count_tokens(messages)  # type: ignore[arg-type] # handed through

    monkeypatch.setattr(chat.bridge, "count_tokens", counting)
    chat.qtbot.keyClicks(chat.view.composer, "many letters in a row " * 5)
    chat.until(lambda: chat.meter != "")
    assert 1 <= n_counts <= 3


def test_a_draft_that_is_too_long_for_the_window_is_warned_about(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load(100)
    chat.write("word " * 200)
    chat.until(lambda: "too many" in chat.meter)


def test_a_conversation_that_is_not_begun_yet_is_counted_with_what_it_will_begin_with(
    open_chat: OpenChat,
) -> None:
    chat = open_chat()
    chat.load()
    pending = ChatSettings("Be very kind.")
    chat.view.pending_levels = lambda: [pending]
    chat.view.sending.begun.connect(lambda begun: chat.store.set_settings(begun, pending))
    chat.write("one two three")
    count = settled_count(chat)
    chat.ask("one two three")
    assert chat.messages[1].stats["settings"]["system_prompt"] == "Be very kind."
    assert chat.messages[1].stats["prompt_tokens"] == count
