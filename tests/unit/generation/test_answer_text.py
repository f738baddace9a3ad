from __future__ import annotations

from engine.events import FinishReason
from engine.generation.answer_text import AnswerText


def test_stop_string_in_the_middle_of_multibyte_text() -> None:
    text = AnswerText(["終"])
    deltas = [text.add(bytes([byte])) for byte in "日終本".encode()[:6]]
    assert deltas == ["", "", "日", "", "", ""]
    assert text.is_stopped
    assert text.finish(FinishReason.STOP_STRING) == ""
    assert text.text == "日"


def test_end_releases_the_held_beginning_of_a_stop() -> None:
    text = AnswerText(["###"])
    assert text.add(b"a##") == "a"
    assert text.finish(FinishReason.END_OF_TEXT) == "##"
    assert text.text == "a##"


def test_unfinished_character_is_shown_only_if_the_model_ended_there() -> None:
    ended, cut = AnswerText([]), AnswerText([])
    for text in (ended, cut):
        assert text.add(b"a\xe3\x81") == "a"
    assert ended.finish(FinishReason.END_OF_TEXT) == "\ufffd"
    assert cut.finish(FinishReason.CANCELLED) == ""
    assert (ended.text, cut.text) == ("a\ufffd", "a")
