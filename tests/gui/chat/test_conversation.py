"""Ask, queue, edit, answer again, continue, delete: what a user does within a conversation."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QToolButton

from app.history.errors import HistoryError
from app.history.records import ChatSettings
from tests.support.running_chat import OpenChat, RunningChat
from tests.support.running_window import ANSWER, quick_backend

SLOW = " ".join(["word"] * 300)


def slow_chat(open_chat: OpenChat, seconds: float = 0.003) -> RunningChat:
    chat = open_chat(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=seconds))
    chat.load()
    return chat


def click(chat: RunningChat, name: str) -> None:
    """Press a button by its accessible name."""
    buttons = chat.view.findChildren(QToolButton)
    next(each for each in buttons if each.accessibleName() == name and each.isVisible()).click()


# --- the queue ------------------------------------------------------------------------------------


def test_messages_sent_meanwhile_are_shown_as_queued_and_answered_in_order(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("First")
    chat.until(lambda: "word" in chat.transcript)
    chat.say("Second")
    chat.say("Third")
    assert chat.view.queue.lines == ["Queued: Second", "Queued: Third"]
    assert chat.texts[0] == "First"
    assert len(chat.messages) == 2
    chat.until(lambda: len(chat.messages) == 6 and not chat.chat.answering.is_busy)
    assert chat.texts == ["First", SLOW, "Second", SLOW, "Third", SLOW]
    assert chat.transcript.index("Second") < chat.transcript.index("Third")
    assert not chat.view.queue.isVisible()


def test_what_is_sent_before_a_model_is_loaded_is_answered_in_order(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.say("First")
    chat.say("Second")
    assert "No model is loaded" in chat.view.activity.text
    assert chat.view.queue.lines == ["Queued: Second"]
    chat.load()
    chat.until(lambda: len(chat.messages) == 4 and not chat.chat.answering.is_busy)
    assert chat.texts == ["First", ANSWER, "Second", ANSWER]


def test_the_load_a_message_waited_for_is_in_its_time_to_first_token(open_chat: OpenChat) -> None:
    chat = open_chat(lambda: quick_backend(load_seconds=0.3, initialise_seconds=0.1))
    chat.say("First")
    chat.load()
    chat.until(lambda: len(chat.messages) == 2 and chat.messages[1].status == "complete")
    ttft = chat.messages[1].stats["ttft"]
    assert 0.29e9 < ttft["load_ns"] < 2e9
    assert 0.09e9 < ttft["initialise_ns"] < 2e9
    chat.ask("Second")
    assert chat.messages[3].stats["ttft"]["load_ns"] == 0


def test_a_queued_message_can_be_removed_or_taken_back_into_the_composer(open_chat: OpenChat) -> None:
    chat = open_chat()
    for text in ("First", "Second", "Third"):
        chat.say(text)
    click(chat, "Remove queued message 1")
    assert chat.view.queue.lines == ["Queued: Third"]
    chat.write("more")
    click(chat, "Edit queued message 1")
    assert chat.view.composer.toPlainText() == "Third\n\nmore"
    assert not chat.view.queue.isVisible()


def test_stopping_pauses_the_queue_until_the_user_sends_it(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("First")
    chat.until(lambda: "word" in chat.transcript)
    chat.say("Second")
    chat.view.stop()
    chat.until_idle()
    assert chat.messages[-1].status == "stopped"
    assert chat.view.queue.can_resume
    chat.view.queue.resume_wanted.emit()
    chat.until(lambda: len(chat.messages) == 4 and not chat.chat.answering.is_busy)
    assert chat.texts[2:] == ["Second", SLOW]


def test_the_queue_survives_a_restart_and_waits_for_the_user(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.say("First")
    chat.say("Second")
    conversation_id = chat.view.conversation_id
    again = open_chat()
    again.load()
    again.chat.open(conversation_id)
    assert again.view.queue.lines == ["Queued: Second"]
    assert again.view.queue.can_resume
    again.view.message_actions.answer_again()
    again.until(lambda: len(again.messages) == 2 and not again.chat.answering.is_busy)
    again.view.queue.resume_wanted.emit()
    again.until(lambda: len(again.messages) == 4 and not again.chat.answering.is_busy)
    assert again.texts == ["First", ANSWER, "Second", ANSWER]


def test_the_queue_goes_on_while_another_conversation_is_shown(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("First")
    first = chat.view.conversation_id
    chat.say("Second")
    chat.chat.begin_new()
    assert "word" not in chat.transcript
    assert not chat.view.queue.isVisible()
    chat.until(lambda: len(chat.store.messages(first)) == 4)
    assert "word" not in chat.transcript
    chat.chat.open(first)
    chat.until_idle()
    assert chat.transcript.count("word") == 600


def test_a_message_that_cannot_be_saved_stays_in_the_composer(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = open_chat()
    chat.say("First")

    def fail(*_values: object) -> None:
        raise HistoryError("The disk is full.", "Free some space.")

    with monkeypatch.context() as patched:
        patched.setattr(chat.store, "keep_draft", fail)
        chat.say("Second")
        assert chat.view.queue.lines == []
    assert chat.view.composer.toPlainText() == "Second"
    assert "The disk is full." in {str(fault.fault) for fault in chat.faults}
    with monkeypatch.context() as patched:
        patched.setattr(chat.store, "add_user_message", fail)
        chat.chat.begin_new()
        chat.say("Third")
    assert chat.view.composer.toPlainText() == "Third"


# --- versions -------------------------------------------------------------------------------------


def test_answering_again_makes_a_version_beside_the_first(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    first = chat.messages[1]
    chat.view.transcript.again_wanted.emit(first.id)
    chat.until_idle()
    second = chat.messages[1]
    assert chat.texts == ["Hello", ANSWER]
    assert second.sibling_ids == (first.id, second.id)
    assert chat.transcript.count("Some bold words.") == 1
    chat.view.transcript.version_wanted.emit(first.id)
    assert chat.messages[1].id == first.id


def test_an_edited_message_begins_a_branch_and_the_old_one_stays(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("First try")
    chat.ask("And then?")
    old = chat.messages[0]
    chat.write("a draft")
    chat.view.transcript.edit_wanted.emit(old.id)
    assert chat.view.composer.toPlainText() == "First try"
    assert chat.view.panel.is_editing
    chat.ask("Second try")
    assert chat.texts == ["Second try", ANSWER]
    assert "First try" not in chat.transcript
    assert not chat.view.panel.is_editing
    assert chat.view.composer.toPlainText() == "a draft"
    chat.view.transcript.version_wanted.emit(old.id)
    assert chat.texts == ["First try", ANSWER, "And then?", ANSWER]
    assert "First try" in chat.transcript
    assert "And then?" in chat.transcript


def test_leaving_an_edit_brings_the_draft_back(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    chat.write("a draft")
    chat.view.message_actions.edit()
    chat.write("never sent")
    chat.view.panel.edit_cancelled.emit()
    assert chat.view.composer.toPlainText() == "a draft"
    assert chat.texts == ["Hello", ANSWER]


def test_an_edit_waits_while_another_conversation_is_shown(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    first = chat.view.conversation_id
    chat.view.message_actions.edit()
    chat.write("Hello there")
    chat.chat.begin_new()
    assert not chat.view.panel.is_editing
    assert chat.view.composer.toPlainText() == ""
    chat.chat.open(first)
    assert chat.view.panel.is_editing
    chat.ask("Hello there!")
    assert chat.texts == ["Hello there!", ANSWER]
    assert len(chat.messages[0].sibling_ids) == 2
    assert chat.view.composer.toPlainText() == ""


def test_an_edit_sent_while_answering_stops_that_answer(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("First")
    chat.until(lambda: "word" in chat.transcript)
    first_answer = chat.messages[1].id
    chat.view.message_actions.edit()
    chat.say("Better")
    chat.until(lambda: len(chat.messages) == 2 and not chat.chat.answering.is_busy)
    assert chat.texts == ["Better", SLOW]
    chat.store.choose_version(first_answer)
    assert chat.messages[1].status == "stopped"
    assert len(chat.messages[1].text) < len(SLOW)


def test_a_stopped_answer_is_continued_where_it_ended(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("Talk")
    chat.until(lambda: chat.transcript.count("word") >= 3)
    chat.view.stop()
    chat.until_idle()
    stopped = chat.messages[1]
    assert stopped.is_partial
    assert 3 <= stopped.text.count("word") < 300
    chat.view.transcript.continue_wanted.emit(stopped.id)
    chat.until(lambda: chat.messages[1].status == "complete")
    assert [(each.id, each.text) for each in chat.messages[1:]] == [(stopped.id, SLOW)]
    assert chat.transcript.count("word") == 300
    assert chat.messages[1].stats["is_continuation"] is True


def test_nothing_is_begun_beside_a_running_answer(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("Talk")
    chat.until(lambda: "word" in chat.transcript)
    chat.view.message_actions.answer_again()
    assert "Stop it first" in chat.notice
    chat.until_idle()
    assert chat.texts == ["Talk", SLOW]
    assert len(chat.messages[1].sibling_ids) == 1


def test_versions_can_be_looked_at_while_another_one_is_made(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.ask("Talk")
    first = chat.messages[1].id
    chat.view.message_actions.answer_again()
    chat.until(lambda: chat.chat.answering.is_busy and "word" in chat.transcript)
    second = chat.messages[1].id
    chat.view.transcript.version_wanted.emit(first)
    chat.until(lambda: not chat.chat.answering.is_busy)
    assert chat.messages[1].id == first
    assert chat.transcript.count("word") == 300
    chat.view.transcript.version_wanted.emit(second)
    assert chat.texts == ["Talk", SLOW]


# --- deleting -------------------------------------------------------------------------------------


def test_a_deleted_message_takes_what_follows_and_undo_brings_all_back(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("First")
    chat.ask("Second")
    chat.view.transcript.delete_wanted.emit(chat.messages[2].id)
    assert chat.texts == ["First", ANSWER]
    assert "Second" not in chat.transcript
    assert chat.notice == "The message and the 1 after it were deleted."
    chat.view.panel.notice._button.click()
    assert chat.texts == ["First", ANSWER, "Second", ANSWER]
    assert "Second" in chat.transcript
    assert chat.notice == ""


def test_deleting_the_question_of_a_running_answer_stops_it(open_chat: OpenChat) -> None:
    chat = slow_chat(open_chat)
    chat.say("Talk")
    chat.until(lambda: "word" in chat.transcript)
    chat.view.message_actions.delete(chat.messages[0].id)
    chat.until_idle()
    assert chat.messages == []
    assert "word" not in chat.transcript
    assert chat.faults == []


# --- settings of a run ----------------------------------------------------------------------------


def test_the_conversation_s_settings_are_used_and_recorded(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    conversation_id = chat.view.conversation_id
    preset = chat.store.save_preset("Terse", ChatSettings("Be terse.", temperature=0.1, top_k=7))
    chat.store.set_preset(conversation_id, preset.id)
    chat.store.set_settings(conversation_id, ChatSettings(temperature=0.0, seed=3))
    before = chat.messages[1].stats["prompt_tokens"]
    chat.view.message_actions.answer_again()
    chat.until_idle()
    stats = chat.messages[1].stats
    settings = stats["settings"]
    assert (settings["temperature"], settings["top_k"], settings["seed"]) == (0.0, 7, 3)
    assert settings["system_prompt"] == "Be terse."
    assert settings["top_p"] == 0.95
    # "<system>", two words, the end mark of that turn
    assert stats["prompt_tokens"] == before + 4


def test_a_bad_setting_is_said_in_words(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load()
    chat.ask("Hello")
    chat.store.set_settings(chat.view.conversation_id, ChatSettings(top_p=7.0))
    chat.view.message_actions.answer_again()
    assert [fault.fault for fault in chat.faults] == [
        "Bad sampling setting: top-p must be above 0 and at most 1."
    ]
    assert chat.chat.answering.is_free(chat.view.conversation_id)
