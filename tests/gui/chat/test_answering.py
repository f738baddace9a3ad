"""Asks between being made and being answered, with an engine that does only what the test says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.answering import Answering
from app.chat.ask import Ask, TooLong
from app.history.store import HistoryStore
from engine.backends.fake_model import fake_model_info
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import ErrorInfo
from engine.events import (
    Event,
    FinishReason,
    GenerationFinished,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    TextDelta,
    TokensCounted,
    TtftPhases,
    Usage,
)

CONTEXT = 2048
LONG = "long " * 1000


class HandEngine:
    """Notes requests; their ids count from 1."""

    def __init__(self) -> None:
        self.generated: dict[int, tuple[list[ChatMessage], bool]] = {}
        self.counted: dict[int, list[ChatMessage]] = {}
        self.cancelled: list[int | None] = []
        self._last_id = 0

    def generate(
        self,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        is_continuation: bool = False,
        asked_ns: int | None = None,
    ) -> int:
        self._last_id += 1
        self.generated[self._last_id] = list(messages), is_continuation
        return self._last_id

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        self._last_id += 1
        self.counted[self._last_id] = list(messages)
        return self._last_id

    def cancel(self, request_id: int | None = None) -> None:
        self.cancelled.append(request_id)


class Scene:
    """A store with one conversation and its answering."""

    def __init__(self, folder: Path) -> None:
        self.store = HistoryStore(folder / "c.sqlite3")
        self.engine = HandEngine()
        self.answering = Answering(self.store, self.engine)
        self.too_long: list[TooLong] = []
        self.answering.too_long.connect(self.too_long.append)
        self.conversation_id = self.store.create_conversation("Title").id

    def user(self, text: str) -> Ask:
        """A stored message and the ask for its answer."""
        message = self.store.add_user_message(self.conversation_id, text)
        return Ask(self.conversation_id, message.id)

    def load(self) -> None:
        info = fake_model_info(FakeScript(), LoadSettings(Path("m"), context_tokens=CONTEXT))
        self.apply(ModelLoaded(request_id=900, info=info, load_ns=0, initialise_ns=0))

    def apply(self, *events: Event) -> None:
        self.answering.apply(events)

    def count(self, tokens: int) -> None:
        """Answer the latest count."""
        request_id = max(self.engine.counted)
        self.apply(TokensCounted(request_id=request_id, tokens=tokens, context_tokens=CONTEXT))

    def finish(self, text: str, reason: FinishReason = FinishReason.END_OF_TEXT) -> None:
        """Say and finish the latest answer."""
        request_id = max(self.engine.generated)
        self.apply(
            TextDelta(request_id=request_id, text=text, completion_tokens=1),
            GenerationFinished(
                request_id=request_id, text=text, reason=reason, usage=Usage(1, 0, 1, 1, 1, 0, 0),
                ttft=TtftPhases(),
            ),
        )  # fmt: skip

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.store.messages(self.conversation_id)]


@pytest.fixture
def scene(qtbot: QtBot, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.answering.interrupt_all()
    made.store.close()


def test_a_short_prompt_is_sent_without_being_counted(scene: Scene) -> None:
    scene.load()
    scene.answering.ask(scene.user("short"))
    assert scene.engine.counted == {}
    assert scene.engine.generated == {1: ([ChatMessage("user", "short")], False)}
    assert not scene.answering.is_free(scene.conversation_id)


def test_a_long_prompt_is_counted_first(scene: Scene) -> None:
    scene.load()
    scene.answering.ask(scene.user(LONG))
    assert scene.engine.generated == {}
    assert scene.answering.is_waiting(scene.conversation_id)
    scene.count(1500)
    assert list(scene.engine.generated) == [2]


def test_what_is_too_long_is_held_with_its_figures_until_decided(scene: Scene) -> None:
    scene.load()
    for text in ("one", "two"):
        scene.answering.ask(scene.user(text))
        scene.finish(f"answer {text}")
    ask = scene.user(LONG)
    scene.answering.ask(ask)
    scene.count(2500)  # all
    scene.count(1100)  # the last alone
    scene.count(1600)  # without the first pair
    (held,) = scene.too_long
    assert (held.fit.prompt_tokens, held.fit.left_out_messages, held.fit.left_out_tokens) == (2500, 2, 900)
    assert scene.answering.held_of(scene.conversation_id) is held
    assert not scene.answering.is_waiting(scene.conversation_id)
    scene.answering.ask(Ask(ask.conversation_id, ask.message_id, is_shortened=True))
    for tokens in (2500, 1100, 1600):
        scene.count(tokens)
    messages, _ = scene.engine.generated[max(scene.engine.generated)]
    assert [each.content for each in messages] == ["two", "answer two", LONG]
    assert scene.answering.held_of(scene.conversation_id) is None


@pytest.mark.parametrize("is_held", [False, True])
def test_stop_forgets_what_is_counted_or_held(scene: Scene, is_held: bool) -> None:
    scene.load()
    scene.answering.ask(scene.user(LONG))
    if is_held:
        scene.count(4000)
    scene.answering.stop(scene.conversation_id)
    if not is_held:
        scene.count(100)
    assert scene.engine.generated == {}
    assert scene.answering.is_free(scene.conversation_id)


def test_a_model_that_goes_away_while_counting_leaves_the_ask_waiting_for_the_next(scene: Scene) -> None:
    scene.load()
    scene.answering.ask(scene.user(LONG))
    failed = ErrorInfo("StateError", "No model.", "Load one.", "", 1)
    scene.apply(ModelUnloaded(), RequestFailed(request_id=1, error=failed))
    assert scene.answering.is_waiting(scene.conversation_id)
    scene.load()
    scene.count(1500)
    assert len(scene.engine.generated) == 1


def test_a_continued_answer_keeps_its_text_and_goes_on(scene: Scene) -> None:
    scene.load()
    scene.answering.ask(scene.user("Tell"))
    scene.finish("<think>a</think>Once", FinishReason.CANCELLED)
    answer = scene.store.messages(scene.conversation_id)[1]
    assert answer.status == "stopped"
    scene.answering.ask(Ask(scene.conversation_id, answer.id, is_continuation=True))
    messages, is_continuation = scene.engine.generated[2]
    assert is_continuation
    assert messages[-1] == ChatMessage("assistant", "<think>a</think>Once")
    scene.finish(" upon")
    assert scene.texts == ["Tell", "<think>a</think>Once upon"]
    stats = scene.store.messages(scene.conversation_id)[1].stats
    assert stats is not None
    assert stats["is_continuation"] is True


def test_an_ask_about_another_version_brings_that_branch_back(scene: Scene) -> None:
    scene.load()
    scene.answering.ask(scene.user("First"))
    scene.finish("one")
    first = scene.store.messages(scene.conversation_id)[0]
    scene.store.add_user_message(scene.conversation_id, "Second", (), None)
    assert scene.texts == ["Second"]
    scene.answering.ask(Ask(scene.conversation_id, first.id))
    assert scene.engine.generated[2][0] == [ChatMessage("user", "First")]
    scene.finish("two")
    assert scene.texts == ["First", "two"]


def test_an_ask_waits_for_the_run_before_it(scene: Scene) -> None:
    scene.load()
    ask = scene.user("One")
    scene.answering.ask(ask)
    edited = scene.store.add_user_message(scene.conversation_id, "One, better", (), None)
    scene.answering.stop(scene.conversation_id)
    scene.answering.ask(Ask(scene.conversation_id, edited.id))
    assert scene.engine.cancelled == [1]
    assert list(scene.engine.generated) == [1]
    scene.finish("par", FinishReason.CANCELLED)
    assert scene.engine.generated[2][0] == [ChatMessage("user", "One, better")]


def test_when_the_program_ends_the_settings_of_a_run_are_still_recorded(scene: Scene) -> None:
    scene.load()
    scene.answering.ask(scene.user("One"))
    scene.answering.interrupt_all()
    message = scene.store.messages(scene.conversation_id)[1]
    assert message.status == "interrupted"
    assert message.stats is not None
    assert message.stats["settings"]["temperature"] == 0.7  # type: ignore[index] # a JSON object
