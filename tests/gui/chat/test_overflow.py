"""A conversation that no longer fits: asked with exact figures, and what each way out does."""

from __future__ import annotations

from PySide6.QtCore import Qt

from app.chat.overflow_dialog import OverflowDialog
from tests.support.running_chat import OpenChat, RunningChat
from tests.support.running_window import ANSWER

CONTEXT = 160
# "Part n", 20 words, in a turn of one header and one end mark; the answer takes the same again
QUESTION = " ".join(["question"] * 20)
LONG = f"3 {QUESTION} {QUESTION} {QUESTION}"


def full_chat(open_chat: OpenChat) -> RunningChat:
    """A conversation of three turns whose fourth question doesn't fit any more."""
    chat = open_chat()
    chat.load(CONTEXT)
    for number in range(3):
        chat.ask(f"{number} {QUESTION}")
    return chat


def dialog_of(chat: RunningChat) -> OverflowDialog:
    """The question on the screen."""
    chat.until(lambda: chat.view.overflow.dialog is not None)
    dialog = chat.view.overflow.dialog
    assert dialog is not None
    assert dialog.isVisible()
    return dialog


def test_the_question_has_exact_figures_and_nothing_is_sent_before_the_answer(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    n_tokens = [each.stats["prompt_tokens"] for each in chat.messages if each.stats]
    per_turn = n_tokens[1] - n_tokens[0]
    chat.say(LONG)
    dialog = dialog_of(chat)
    label = dialog.children()[1].text()
    prompt = n_tokens[2] + per_turn + 40
    assert f"takes {prompt} tokens. The context window holds 160, and 20 of them must stay free" in label
    assert f"so it is {prompt - 140} too long" in label
    n_pairs = -(-(prompt - 140) // per_turn)
    words = dialog.buttons["leave_out"].text()
    assert f"the oldest {2 * n_pairs} messages ({n_pairs * per_turn} tokens;" in words
    assert len(chat.messages) == 7
    assert "doesn’t fit" in chat.view.activity.text


def test_leaving_out_answers_with_the_rest_and_says_so_in_the_details(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    chat.say(LONG)
    dialog_of(chat).buttons["leave_out"].click()
    chat.until(lambda: len(chat.messages) == 8 and chat.messages[-1].status == "complete")
    stats = chat.messages[-1].stats
    assert stats["left_out_messages"] in (2, 4)
    assert stats["prompt_tokens"] <= 140
    assert chat.texts[0].startswith("0 ")  # the conversation itself is whole
    # not remembered: the next one asks again
    chat.say(f"4 {QUESTION}")
    dialog_of(chat).reject()


def test_a_remembered_choice_is_not_asked_again(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    chat.say(LONG)
    dialog = dialog_of(chat)
    dialog.remember.setChecked(True)
    dialog.buttons["leave_out"].click()
    chat.until(lambda: len(chat.messages) == 8)
    chat.until_idle()
    chat.say(f"4 {QUESTION}")
    chat.until(lambda: len(chat.messages) == 10 and chat.messages[-1].status == "complete")
    assert chat.view.overflow.dialog is None
    n_left_out = chat.messages[-1].stats["left_out_messages"]
    assert n_left_out > 0
    assert chat.notice.startswith(f"The oldest {n_left_out} messages (")
    chat.view.panel.notice._button.click()
    chat.say(f"5 {QUESTION}")
    dialog_of(chat).reject()


def test_a_new_conversation_takes_the_message_along(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    old = chat.view.conversation_id
    chat.say(LONG)
    dialog_of(chat).buttons["new_conversation"].click()
    assert chat.view.conversation_id != old
    chat.until(lambda: len(chat.messages) == 2 and chat.messages[-1].status == "complete")
    assert chat.texts == [LONG, ANSWER]
    assert len(chat.store.messages(old)) == 6


def test_escape_takes_the_message_back_into_the_composer(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    chat.say(LONG)
    chat.qtbot.keyClick(dialog_of(chat), Qt.Key.Key_Escape)
    assert len(chat.messages) == 6
    assert chat.view.composer.toPlainText() == LONG
    assert chat.view.activity.text == ""
    assert "3 question" not in chat.transcript


def test_a_message_that_is_too_long_by_itself_can_only_be_taken_back(open_chat: OpenChat) -> None:
    chat = open_chat()
    chat.load(CONTEXT)
    chat.say(" ".join([QUESTION] * 8))
    dialog = dialog_of(chat)
    assert set(dialog.buttons) == {"cancel"}
    assert not dialog.remember.isVisible()
    assert "The last message alone is too long" in dialog.children()[1].text()
    dialog.buttons["cancel"].click()
    assert chat.messages == []
    assert chat.view.composer.toPlainText().count("question") == 160


def test_the_question_waits_while_another_conversation_is_shown(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    old = chat.view.conversation_id
    chat.unload()
    chat.say(LONG)
    chat.chat.begin_new()
    chat.load(CONTEXT)
    chat.until(lambda: chat.chat.answering.held_of(old) is not None)
    assert chat.view.overflow.dialog is None
    chat.chat.open(old)
    first = dialog_of(chat)
    chat.chat.begin_new()
    assert not first.isVisible()
    chat.chat.open(old)
    dialog_of(chat).buttons["leave_out"].click()
    chat.until(lambda: len(chat.messages) == 8 and chat.messages[-1].status == "complete")


def test_a_queued_message_is_checked_when_its_turn_comes(open_chat: OpenChat) -> None:
    chat = full_chat(open_chat)
    chat.unload()
    chat.say("short")
    chat.say(f"4 {QUESTION} {QUESTION}")
    chat.say("last")
    chat.load(CONTEXT)
    dialog_of(chat).buttons["leave_out"].click()
    chat.until(lambda: len(chat.messages) == 12 or _asks(chat))
    if _asks(chat):
        dialog_of(chat).buttons["leave_out"].click()
    chat.until(lambda: len(chat.messages) == 12 and chat.messages[-1].status == "complete")


def _asks(chat: RunningChat) -> bool:
    return chat.view.overflow.dialog is not None
