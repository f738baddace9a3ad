"""Gets answers for conversations: what waits, what runs, and how each answer ends on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.answer_run import AnswerRun
from app.chat.answer_words import failed_stats, finished_stats
from app.chat.prompt_messages import prompt_messages
from app.history.answer_writer import AnswerWriter
from app.history.errors import HistoryError
from app.history.records import COMPLETE, FAILED, INTERRUPTED, STOPPED
from app.history.store import HistoryStore
from engine.config import ChatMessage, SamplingSettings
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

_SAVE_CHECK_MS = 250


class AnswerEngine(Protocol):
    """What answering needs of the bridge; returns at once."""

    def generate(self, messages: Sequence[ChatMessage], sampling: SamplingSettings) -> int: ...

    def cancel(self, request_id: int | None = None) -> None: ...


class Answering(QObject):
    """At most one run per conversation; what is asked meanwhile is answered next. GUI thread only.

    Signals carry a conversation id; `text_added` also the new text, `ended` the finished answer as a
    Message instead. `progressed` says that what runs or waits changed, `fault` what could not be saved.
    """

    begun = Signal(int)
    text_added = Signal(int, str)
    progressed = Signal(int)
    ended = Signal(object)
    fault = Signal(object)

    def __init__(
        self, store: HistoryStore, engine: AnswerEngine, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.sampling = SamplingSettings()
        self._store = store
        self._engine = engine
        self._clock = clock
        self._model_name: str | None = None
        self._waiting: list[int] = []
        self._runs: dict[int, AnswerRun] = {}
        self._unsaved: list[AnswerWriter] = []
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._save_due)
        self._timer.start(_SAVE_CHECK_MS)

    def run_of(self, conversation_id: int | None) -> AnswerRun | None:
        """The answer in the making of a conversation."""
        return next((run for run in self._runs.values() if run.conversation_id == conversation_id), None)

    def is_waiting(self, conversation_id: int | None) -> bool:
        """Whether something was asked that no run answers yet."""
        return conversation_id in self._waiting

    @property
    def is_busy(self) -> bool:
        return bool(self._runs)

    @property
    def has_model(self) -> bool:
        return self._model_name is not None

    @property
    def busy_conversations(self) -> set[int]:
        """Those with a run."""
        return {run.conversation_id for run in self._runs.values()}

    def ask(self, conversation_id: int) -> None:
        """Answer the conversation's last messages as soon as that is possible."""
        if conversation_id not in self._waiting:
            self._waiting.append(conversation_id)
        self._begin_waiting()

    def stop(self, conversation_id: int | None) -> None:
        """End the run; without one, forget what waits."""
        run = self.run_of(conversation_id)
        if run is not None:
            self._engine.cancel(run.request_id)
        elif conversation_id in self._waiting:
            self._waiting.remove(conversation_id)
            self.progressed.emit(conversation_id)

    def forget(self, conversation_id: int) -> None:
        """The conversation was deleted: end what runs or waits for it."""
        if conversation_id in self._waiting:
            self._waiting.remove(conversation_id)
        self.stop(conversation_id)

    def interrupt_all(self) -> None:
        """The program ends: save every answer as interrupted. Raises nothing."""
        self._timer.stop()
        self._waiting.clear()
        for run in list(self._runs.values()):
            self._finish(run, INTERRUPTED, {})

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
                self._end(run, STOPPED if is_stopped else COMPLETE, finished_stats(event))
                return
            case RequestFailed():
                self._end(run, FAILED, failed_stats(event.error))
                return
        self.progressed.emit(run.conversation_id)

    def _take_model_event(self, event: Event) -> None:
        match event:
            case ModelLoaded():
                self._model_name = event.info.name
                self._begin_waiting()
            case ModelUnloaded() | LoadStarted():
                self._model_name = None

    # --- runs ---------------------------------------------------------------------------------

    def _begin_waiting(self) -> None:
        if self._model_name is None:
            return
        for conversation_id in list(self._waiting):
            if self.run_of(conversation_id) is None:
                self._waiting.remove(conversation_id)
                self._begin(conversation_id, self._model_name)

    def _begin(self, conversation_id: int, model_name: str) -> None:
        try:
            messages = prompt_messages(self._store.messages(conversation_id))
            answer = self._store.begin_answer(conversation_id, model_name) if messages else None
        except HistoryError as error:
            self.fault.emit(error)
            return
        if answer is None:
            return
        request_id = self._engine.generate(messages, self.sampling)
        writer = AnswerWriter(self._store, answer.id, self._clock)
        self._runs[request_id] = AnswerRun(answer, request_id, writer)
        self.begun.emit(conversation_id)

    def _end(self, run: AnswerRun, status: str, stats: dict[str, object]) -> None:
        self._finish(run, status, stats)
        self.ended.emit(run.finished(status, stats))
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
