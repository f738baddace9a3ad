"""What the list's menu does: duplicate, pin, folder."""

from __future__ import annotations

from tests.support.running_chat import OpenChat
from tests.support.running_window import ANSWER


def test_a_duplicate_is_shown_and_lives_on_its_own(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    first = chat.view.conversation_id
    chat.chat.duplicate(first)
    assert chat.view.conversation_id != first
    assert chat.texts == ["Hello", ANSWER]
    chat.ask("Only here")
    assert len(chat.messages) == 4
    assert len(chat.store.messages(first)) == 2


def test_pin_and_folder_are_stored(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.say("Hello")
    conversation_id = chat.view.conversation_id
    chat.chat.set_pinned(conversation_id, True)
    chat.chat.set_folder(conversation_id, "Work")
    conversation = chat.store.conversations()[0]
    assert (conversation.is_pinned, conversation.folder) == (True, "Work")


def test_what_is_gone_is_said(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.chat.duplicate(999)
    assert len(chat.faults) == 1
    assert chat.view.conversation_id is None
