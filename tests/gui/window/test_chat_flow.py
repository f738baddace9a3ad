"""Open, load, chat, stop, quit: what a user does, over a real engine with a simulated model."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from app.history.store import HistoryStore
from tests.support.running_window import ANSWER, OpenWindow, quick_backend

SLOW = " ".join(["word"] * 400)


def test_an_answer_is_shown_rendered_and_kept(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    scene.say("Hello there")
    scene.until(lambda: len(scene.statuses()) == 2)
    scene.until_idle()
    assert scene.statuses() == [("user", "Hello there", "complete"), ("assistant", ANSWER, "complete")]
    assert "Some bold words." in scene.transcript
    assert "**" not in scene.transcript
    assert "from disk" in scene.transcript
    assert scene.window.chat.conversations.titles() == ["Hello there"]


def test_the_time_to_the_first_token_reaches_to_its_pixels(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    asked_ns = time.perf_counter_ns()
    scene.say("hello")
    painted_ns: list[int] = []
    scene.window.chat.answering.painted.connect(lambda _id, _ns: painted_ns.append(time.perf_counter_ns()))
    scene.until_idle()
    ttft = scene.window.telemetry.answers[-1].ttft
    parts = (
        ttft.queue_ns, ttft.load_ns, ttft.initialise_ns, ttft.warm_up_ns, ttft.template_ns, ttft.prefill_ns,
        ttft.first_decode_ns, ttft.first_paint_ns,
    )  # fmt: skip
    assert ttft.first_paint_ns > 0
    assert sum(parts) == ttft.total_ns
    # counted from the key press to the paint by another clock reading at both ends
    assert ttft.total_ns <= painted_ns[0] - asked_ns
    assert ttft.total_ns >= (painted_ns[0] - asked_ns) * 0.5
    stored = scene.store.messages(scene.store.conversations()[0].id)[-1].stats
    assert stored is not None
    assert stored["ttft"]["first_paint_ns"] == ttft.first_paint_ns  # type: ignore[index]
    assert stored["ttft"]["total_ns"] == ttft.total_ns  # type: ignore[index]


def test_an_answer_that_nobody_sees_come_has_no_first_paint(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(prefill_token_seconds=0.01))
    scene.load()
    scene.say("hello")
    scene.until(lambda: scene.window.chat.answering.is_busy)
    scene.window.chat.begin_new()
    scene.until_idle()
    assert scene.window.telemetry.answers[-1].ttft.first_paint_ns == 0


def test_sent_without_a_model_waits_and_is_answered_after_the_load(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.window.chat.begin_new()
    scene.say("Anyone here?")
    assert scene.statuses() == [("user", "Anyone here?", "complete")]
    assert "No model is loaded" in scene.activity
    scene.load()
    scene.until(lambda: len(scene.statuses()) == 2 and scene.statuses()[1][2] == "complete")


def test_stop_keeps_the_text_so_far_and_says_so(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=0.02))
    scene.load()
    scene.say("Talk")
    scene.until(lambda: scene.transcript.count("word") >= 2)
    started = time.monotonic()
    scene.qtbot.keyClick(scene.window, Qt.Key.Key_Escape)
    scene.until_idle()
    assert time.monotonic() - started < 1.0
    role, text, status = scene.statuses()[1]
    assert (role, status) == ("assistant", "stopped")
    assert 2 <= text.count("word") < 400
    assert "Stopped." in scene.transcript
    assert "Answer again" in scene.transcript


def test_what_is_sent_while_answering_is_answered_next(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=0.003))
    scene.load()
    scene.say("First")
    scene.until(lambda: "word" in scene.transcript)
    scene.say("Second")
    assert [role for role, _, _ in scene.statuses()] == ["user", "assistant"]
    assert scene.window.chat.view.queue.lines == ["Queued: Second"]
    scene.until(lambda: len(scene.statuses()) == 4 and scene.statuses()[3][2] == "complete")
    assert [text for _, text, _ in scene.statuses()] == ["First", SLOW, "Second", SLOW]


def test_switching_away_and_back_while_it_streams_loses_nothing(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=0.003))
    scene.load()
    scene.say("First")
    first = scene.window.chat.view.conversation_id
    scene.until(lambda: "word" in scene.transcript)
    scene.window.chat.begin_new()
    assert "word" not in scene.transcript
    other_text = len(scene.window.chat.answering.run_of(first).text)
    scene.until(lambda: len(scene.window.chat.answering.run_of(first).text) > other_text)
    assert "word" not in scene.transcript
    scene.window.chat.open(first)
    assert scene.transcript.count("word") == scene.window.chat.answering.run_of(first).text.count("word")
    scene.until_idle()
    assert scene.transcript.count("word") == 400
    assert scene.statuses()[1] == ("assistant", SLOW, "complete")


def test_a_failed_answer_keeps_its_text_and_says_what_to_do(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer=SLOW, failing_decode_token=5))
    scene.load()
    scene.say("Go")
    scene.until(lambda: len(scene.statuses()) == 2 and scene.statuses()[1][2] == "failed")
    assert 1 <= scene.statuses()[1][1].count("word") <= 5
    assert "A simulated read of expert weights failed. Send the message again" in scene.transcript
    scene.window.chat.view.answer_again()
    scene.until(lambda: scene.statuses()[1] == ("assistant", SLOW, "complete"))
    assert len(scene.statuses()) == 2


def test_quitting_while_it_answers_saves_it_as_interrupted(open_window: OpenWindow, tmp_path: Path) -> None:
    scene = open_window(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=0.02))
    scene.load()
    scene.say("Talk")
    scene.until(lambda: scene.transcript.count("word") >= 2)
    started = time.monotonic()
    scene.close()
    assert time.monotonic() - started < 2.0
    store = HistoryStore(tmp_path / "conversations.sqlite3")
    try:
        messages = store.messages(store.conversations()[0].id)
    finally:
        store.close()
    assert messages[1].status == "interrupted"
    assert messages[1].text.count("word") >= 2


def test_unload_frees_the_model_and_the_line_says_so(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    assert scene.window.models.line.startswith("Ready · Simulated")
    scene.window.models.unload()
    scene.until(lambda: scene.window.models.model is None)
    assert scene.window.models.line == "No model loaded"
    assert scene.bridge.model is None


def test_the_stop_button_is_there_only_while_something_runs(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer=SLOW, decode_token_seconds=0.02))
    scene.load()
    stop = next(b for b in scene.window.chat.view.findChildren(QPushButton) if b.text() == "Stop")
    assert not stop.isVisible()
    scene.say("Talk")
    scene.until(stop.isVisible)
    scene.qtbot.mouseClick(stop, Qt.MouseButton.LeftButton)
    scene.until(lambda: not stop.isVisible())
    assert scene.statuses()[1][2] == "stopped"
