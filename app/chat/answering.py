"""Gets answers for conversations: what waits, what runs, and how each answer ends on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.answer_run import AnswerRun
from app.chat.answer_words import failed_stats, finished_stats
from app.chat.ask import Ask, TooLong
from app.chat.fit_check import check_fit
from app.chat.prompt_fit import Fit
from app.chat.prompt_messages import prompt_messages
from app.chat.run_settings import RunSettings, run_settings
from app.chat.token_counter import TokenCounter
from app.history.answer_writer import AnswerWriter
from app.history.errors import HistoryError
from app.history.records import COMPLETE, FAILED, INTERRUPTED, STOPPED, Message
from app.history.store import HistoryStore
from engine.config import ChatMessage, SamplingSettings
from engine.errors import EngineError
from engine.events import (
    Event,
    FinishReason,
    GenerationFinished,
    GenerationStarted,
    LoadStarted,
    ModelLoaded,
    ModelUnloaded,
    PrefillProgress,
    RequestFailed,
    TextDelta,
)
from engine.model_facts import ModelInfo

_SAVE_CHECK_MS = 250


class AnswerEngine(Protocol):
    """What answering needs of the bridge; returns at once."""

    def generate(
        self,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        is_continuation: bool = False,
        asked_ns: int | None = None,
    ) -> int: ...

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int: ...

    def cancel(self, request_id: int | None = None) -> None: ...


class Answering(QObject):
    """At most one ask and one run per conversation, whichever is on the screen. GUI thread only.

    An ask waits for a model and for the run before it; if its prompt doesn't fit it is held until `ask`
    is called with a decision or it is dropped. Signals carry a conversation id; `text_added` also the new
    text, `ended` the finished answer as a Message instead, `settled` the same once all have heard of it,
    `too_long` a TooLong. `painted` carries a request id and the nanoseconds from its first text to the
    pixels (an object: a C++ int would overflow). `progressed` says that what runs or waits changed, `fault`
    what could not be saved or is wrong with the settings.
    """

    begun = Signal(int)
    text_added = Signal(int, str)
    progressed = Signal(int)
    ended = Signal(object)
    settled = Signal(object)
    painted = Signal(int, object)
    too_long = Signal(object)
    fault = Signal(object)

    def __init__(
        self, store: HistoryStore, engine: AnswerEngine, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.sampling = SamplingSettings()
        self.counter = TokenCounter(engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._model: ModelInfo | None = None
        self._waiting: dict[int, Ask] = {}
        self._checking: dict[int, Ask] = {}
        self._held: dict[int, TooLong] = {}
        self._runs: dict[int, AnswerRun] = {}
        self._unsaved: list[AnswerWriter] = []
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._save_due)
        self._timer.start(_SAVE_CHECK_MS)

    # --- what there is ------------------------------------------------------------------------

    def run_of(self, conversation_id: int | None) -> AnswerRun | None:
        """The answer in the making of a conversation."""
        return next((run for run in self._runs.values() if run.conversation_id == conversation_id), None)

    def is_waiting(self, conversation_id: int | None) -> bool:
        """Whether something was asked that no run answers yet."""
        return conversation_id in self._waiting or conversation_id in self._checking

    def held_of(self, conversation_id: int | None) -> TooLong | None:
        """The ask that waits for the user's decision."""
        return None if conversation_id is None else self._held.get(conversation_id)

    def is_free(self, conversation_id: int) -> bool:
        """Whether a new ask would be the next to be answered."""
        is_held = conversation_id in self._held
        return not is_held and not self.is_waiting(conversation_id) and self.run_of(conversation_id) is None

    @property
    def is_busy(self) -> bool:
        return bool(self._runs) or bool(self._checking)

    @property
    def has_model(self) -> bool:
        return self._model is not None

    @property
    def busy_conversations(self) -> set[int]:
        """Those with a run."""
        return {run.conversation_id for run in self._runs.values()}

    # --- commands -----------------------------------------------------------------------------

    def ask(self, ask: Ask) -> None:
        """Answer as soon as that is possible; replaces what the conversation asked and held before."""
        self._held.pop(ask.conversation_id, None)
        self._checking.pop(ask.conversation_id, None)
        self._waiting[ask.conversation_id] = ask
        self.progressed.emit(ask.conversation_id)
        self._begin_waiting()

    def stop(self, conversation_id: int | None) -> None:
        """End the run; without one, forget what waits or is held."""
        run = self.run_of(conversation_id)
        if run is not None:
            self._engine.cancel(run.request_id)
        elif conversation_id is not None:
            self.drop(conversation_id)

    def drop(self, conversation_id: int) -> None:
        """Forget what was asked; a run goes on."""
        self._waiting.pop(conversation_id, None)
        self._checking.pop(conversation_id, None)
        self._held.pop(conversation_id, None)
        self.progressed.emit(conversation_id)

    def forget(self, conversation_id: int) -> None:
        """The conversation was deleted: end what runs or waits for it."""
        self.drop(conversation_id)
        self.stop(conversation_id)

    def interrupt_all(self) -> None:
        """The program ends: save every answer as interrupted. Raises nothing."""
        self._timer.stop()
        self._waiting.clear()
        self._checking.clear()
        for run in list(self._runs.values()):
            self._finish(run, INTERRUPTED, run.stats)

    def note_paint(self, run: AnswerRun) -> None:
        """The run's first text has just been painted."""
        run.paint(time.perf_counter_ns())
        self.painted.emit(run.request_id, run.first_paint_ns)

    # --- events -------------------------------------------------------------------------------

    def apply(self, events: Sequence[Event]) -> None:
        """Take events in order; the text of one batch reaches the screen in one piece."""
        added: dict[int, list[str]] = {}
        for event in events:
            run = self._runs.get(event.request_id)
            if run is not None and isinstance(event, TextDelta):
                run.say(event)
                added.setdefault(run.conversation_id, []).append(event.text)
            elif run is not None:
                self._show_text(added)
                self._take_run_event(run, event)
            else:
                self._take_model_event(event)
        self._show_text(added)
        self.counter.apply(events)

    def _show_text(self, added: dict[int, list[str]]) -> None:
        for conversation_id, parts in added.items():
            self.text_added.emit(conversation_id, "".join(parts))
            self.progressed.emit(conversation_id)
        added.clear()

    def _take_run_event(self, run: AnswerRun, event: Event) -> None:
        match event:
            case GenerationStarted():
                run.start(event)
            case PrefillProgress():
                run.read_prompt(event)
            case GenerationFinished():
                is_stopped = event.reason is FinishReason.CANCELLED
                self._end(run, STOPPED if is_stopped else COMPLETE, finished_stats(event, run.first_paint_ns))
                return
            case RequestFailed():
                self._end(run, FAILED, failed_stats(event.error))
                return
        self.progressed.emit(run.conversation_id)

    def _take_model_event(self, event: Event) -> None:
        match event:
            case ModelLoaded():
                self._model = event.info
                self._begin_waiting()
            case ModelUnloaded() | LoadStarted():
                self._model = None

    # --- asks ---------------------------------------------------------------------------------

    def _begin_waiting(self) -> None:
        for conversation_id, ask in list(self._waiting.items()):
            if self._model is not None and self.run_of(conversation_id) is None:
                del self._waiting[conversation_id]
                self._check(ask, self._model)

    def _check(self, ask: Ask, model: ModelInfo) -> None:
        """Begin the run if its prompt fits, which may need counting first."""
        try:
            settings = run_settings(self._store, ask.conversation_id, self.sampling)
            branch = self._branch_to(ask)
        except (HistoryError, EngineError) as error:
            self.fault.emit(error.info if isinstance(error, EngineError) else error)
            self.progressed.emit(ask.conversation_id)
            return
        turns = prompt_messages(branch, ask.is_continuation)
        if not turns:
            self.progressed.emit(ask.conversation_id)
            return
        self._checking[ask.conversation_id] = ask
        messages = settings.messages(turns)
        check_fit(
            messages,
            model.context_tokens,
            self.counter,
            lambda fit: self._checked(ask, settings, messages, fit),
        )

    def _branch_to(self, ask: Ask) -> list[Message]:
        """From the first message to the one asked about, which the user may have left for another version."""
        messages = self._store.messages(ask.conversation_id)
        if all(each.id != ask.message_id for each in messages):
            self._store.choose_version(ask.message_id)
            messages = self._store.messages(ask.conversation_id)
        ends = [place for place, each in enumerate(messages) if each.id == ask.message_id]
        return messages[: ends[0] + 1] if ends else []

    def _checked(self, ask: Ask, settings: RunSettings, messages: list[ChatMessage], fit: Fit | None) -> None:
        if self._checking.get(ask.conversation_id) is not ask:
            return  # stopped, or asked anew
        del self._checking[ask.conversation_id]
        if self._model is None:
            self._waiting[ask.conversation_id] = ask
        elif fit is None or fit.is_whole:
            self._begin(ask, settings, messages, {})
        elif fit.messages and ask.is_shortened:
            left_out = {"left_out_messages": fit.left_out_messages, "left_out_tokens": fit.left_out_tokens}
            self._begin(ask, settings, fit.messages, left_out)
        else:
            self._held[ask.conversation_id] = TooLong(ask, fit)
            self.too_long.emit(self._held[ask.conversation_id])
        self.progressed.emit(ask.conversation_id)

    # --- runs ---------------------------------------------------------------------------------

    def _begin(
        self,
        ask: Ask,
        settings: RunSettings,
        messages: Sequence[ChatMessage],
        left_out: Mapping[str, object],
    ) -> None:
        model_name = self._model.name if self._model else ""
        try:
            if ask.is_continuation:
                answer = self._store.resume_answer(ask.message_id)
            else:
                answer = self._store.begin_answer(ask.conversation_id, model_name, ask.message_id)
        except HistoryError as error:
            self.fault.emit(error)
            return
        request_id = self._engine.generate(messages, settings.sampling, ask.is_continuation, ask.asked_ns)
        writer = AnswerWriter(self._store, answer.id, self._clock)
        if answer.text:
            writer.append(answer.text)
        stats = {"settings": settings.stats(), "is_continuation": ask.is_continuation, **left_out}
        self._runs[request_id] = AnswerRun(answer, request_id, writer, stats)
        self.begun.emit(ask.conversation_id)

    def _end(self, run: AnswerRun, status: str, stats: dict[str, object]) -> None:
        stats = run.stats | stats
        self._finish(run, status, stats)
        ended = run.finished(status, stats)
        ended = replace(ended, is_partial=status != COMPLETE and bool(ended.text))
        self.ended.emit(ended)
        self.settled.emit(ended)
        self._begin_waiting()

    def _finish(self, run: AnswerRun, status: str, stats: dict[str, object]) -> None:
        del self._runs[run.request_id]
        try:
            run.writer.finish(status, stats)
        except HistoryError as error:
            self._unsaved.append(run.writer)
            self.fault.emit(error)

    def _save_due(self) -> None:
        for writer in (*self._unsaved, *(run.writer for run in self._runs.values())):
            writer.flush_if_due()
        self._unsaved = [writer for writer in self._unsaved if not writer.is_saved]
