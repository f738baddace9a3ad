"""The engine thread: takes commands in order, owns the backend, the session and the model's state."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from engine.answer_sink import AnswerSink
from engine.backends.base import CancelToken, InferenceBackend, LoadReport, LoadResult, WarmUpReport
from engine.commands import Adjust, Command, CountTokens, Generate, Load, Mailbox, WarmUp, cancelled_outcome
from engine.config import LoadSettings
from engine.errors import Cancelled, DeviceLostError, EngineError, StateError, TemplateError, error_info
from engine.events import (
    EngineState,
    Event,
    GenerationFinished,
    LoadStarted,
    ModelAdjusted,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    StateChanged,
    TokensCounted,
    WarmUpFinished,
)
from engine.generation.chat_session import ChatSession
from engine.generation.chat_template import ChatTemplate
from engine.model_facts import ModelInfo
from engine.telemetry.load_meter import LoadMeter
from engine.telemetry.pass_sampler import PassSampler
from engine.telemetry.warm_up_meter import WarmUpMeter
from engine.wait_split import LoadSpan, WarmUpSpan, split_wait

# How often an idle worker looks whether the interpreter is shutting down without close().
_EXIT_POLL_SECONDS = 0.5


class Worker:
    """One command at a time; a fault ends the command, never the thread.

    `run` is the body of the engine thread. `state` and `model` may be read anywhere; everything else
    belongs to that thread.
    """

    def __init__(
        self,
        backend_factory: Callable[[], InferenceBackend],
        mailbox: Mailbox,
        emit: Callable[[Event], None],
        clock: Callable[[], int],
    ) -> None:
        self._backend_factory = backend_factory
        self._mailbox = mailbox
        self._emit = emit
        self._clock = clock
        self._backend: InferenceBackend | None = None
        self._session: ChatSession | None = None
        self._sampler: PassSampler | None = None
        self._load_span: LoadSpan | None = None
        self._warm_up_span: WarmUpSpan | None = None
        self._template_notes: tuple[str, ...] = ()
        self.state = EngineState.EMPTY
        self.model: ModelInfo | None = None

    def run(self) -> None:
        """Serve the mailbox until it is closed or the interpreter exits; then free the model."""
        while (taken := self._next()) is not None:
            command, token = taken
            self._serve(command, token)
            self._mailbox.done()
        self._mailbox.close()
        self._serve_shutdown()

    def _next(self) -> tuple[Command, CancelToken] | None:
        while not self._is_exiting():
            taken = self._mailbox.take(_EXIT_POLL_SECONDS)
            if taken is not None or self._mailbox.is_closed:
                return taken
            self._look_after_devices()
        return None

    def _look_after_devices(self) -> None:
        """Nobody asks for anything: say so if the model is lost with its device."""
        fault = self._backend.device_fault() if self._backend is not None and self.model is not None else None
        if fault is not None:
            self._emit(RequestFailed(error=fault.info))
            self._free_model()
            self._enter(EngineState.EMPTY, 0)

    @staticmethod
    def _is_exiting() -> bool:
        # The interpreter joins this thread before it runs atexit hooks, so nobody can tell us but this.
        return not threading.main_thread().is_alive()

    def _stop_if_exiting(self, token: CancelToken) -> None:
        if self._is_exiting():
            token.cancel()

    def _serve(self, command: Command, token: CancelToken) -> None:
        try:
            if isinstance(command, Load):
                self._load(command, token)
            elif isinstance(command, Generate):
                self._generate(command, token)
            elif isinstance(command, CountTokens):
                self._count_tokens(command)
            elif isinstance(command, Adjust):
                self._adjust(command, token)
            elif isinstance(command, WarmUp):
                self._warm_up(command, token)
            else:
                self._free_model(command.request_id)
        except Cancelled:
            self._emit(cancelled_outcome(command))
        except DeviceLostError as error:
            self._emit(RequestFailed(request_id=command.request_id, error=error.info))
            self._free_model()  # what was on the device is gone
        except Exception as error:  # noqa: BLE001 - the thread outlives every fault; it is reported
            self._emit(RequestFailed(request_id=command.request_id, error=error_info(error)))
        self._enter(EngineState.READY if self.model else EngineState.EMPTY, command.request_id)

    def _enter(self, state: EngineState, request_id: int) -> None:
        if state is not self.state:
            self.state = state
            self._emit(StateChanged(request_id=request_id, state=state))

    # --- loading ------------------------------------------------------------------------------

    def _load(self, command: Load, token: CancelToken) -> None:
        self._free_model()
        self._enter(EngineState.LOADING, command.request_id)
        self._emit(LoadStarted(request_id=command.request_id, path=str(command.settings.path)))
        try:
            self._open_model(command, token)
        except BaseException:
            self._free_model()
            raise

    def _open_model(self, command: Load, token: CancelToken) -> None:
        start_ns = self._clock()
        self._backend = self._backend or self._backend_factory()
        result = self._read_model(self._backend, command.settings, command.request_id, token)
        info = self._open_session(self._backend, result.info)
        self._load_span = LoadSpan(start_ns, result.load_ns, self._clock())
        self.model = info
        self._emit(
            ModelLoaded(
                request_id=command.request_id,
                info=info,
                load_ns=result.load_ns,
                initialise_ns=result.initialise_ns,
            )
        )
        backend = self._backend
        self._sampler = PassSampler(
            backend.counters, backend.experts, backend.layers, self._emit, self._clock
        )
        self._sampler.finish(command.request_id)

    def _read_model(
        self, backend: InferenceBackend, settings: LoadSettings, request_id: int, token: CancelToken
    ) -> LoadResult:
        meter = LoadMeter(self._emit, self._clock, request_id)

        def report(progress: LoadReport) -> None:
            meter.report(progress.phase, progress.done_bytes, progress.total_bytes)
            self._stop_if_exiting(token)

        try:
            return backend.load(settings, report, token)
        finally:
            meter.flush()

    def _open_session(self, backend: InferenceBackend, info: ModelInfo) -> ModelInfo:
        """Open the chat session; a template that can't be used is replaced and named in the notes."""
        self._template_notes = ()
        bos, eos = backend.special_text("bos"), backend.special_text("eos")
        try:
            template = ChatTemplate(backend.chat_template(), bos, eos)
        except TemplateError as error:
            template = ChatTemplate(None, bos, eos)
            self._template_notes = (f"{error} A plain template is used instead.",)
        info = self._with_template_notes(info)
        self._session = ChatSession(backend, info, template, self._clock)
        return info

    def _with_template_notes(self, info: ModelInfo) -> ModelInfo:
        return dataclasses.replace(info, notes=(*info.notes, *self._template_notes))

    def _adjust(self, command: Adjust, token: CancelToken) -> None:
        if self._backend is None or self._session is None or self._sampler is None:
            raise StateError("No model is loaded, so nothing can be changed.", "Load a model first.")
        info = self._with_template_notes(self._backend.adjust(command.settings, token))
        self._session.adopt(info)
        self.model = info
        self._emit(ModelAdjusted(request_id=command.request_id, info=info))
        self._sampler.finish(command.request_id)

    def _free_model(self, request_id: int = 0) -> None:
        """Free what is loaded and say so; with a `request_id` (an unload's) say so in any case."""
        is_news = self.model is not None or request_id != 0
        self._session = self._sampler = self._load_span = self._warm_up_span = self.model = None
        if self._backend is not None:
            self._backend.unload()
        if is_news:
            self._emit(ModelUnloaded(request_id=request_id))

    # --- answering ----------------------------------------------------------------------------

    def _generate(self, command: Generate, token: CancelToken) -> None:
        if self._session is None or self._sampler is None or self.model is None:
            raise StateError("No model is loaded.", "Load a model, then send the message again.")
        self._enter(EngineState.GENERATING, command.request_id)
        sink = AnswerSink(
            command.request_id,
            self.model.context_tokens,
            self._emit,
            self._sampler,
            lambda: self._stop_if_exiting(token),
            self._clock,
        )
        wait = split_wait(command.queued_ns, self._clock(), self._load_span, self._warm_up_span)
        before = (wait.load_ns, wait.initialise_ns, wait.warm_up_ns)
        if self._backend is not None:
            self._backend.set_layer_listener(sink.layer_done)
        try:
            result = self._session.answer(
                command.messages,
                command.sampling,
                sink,
                token,
                wait.queue_ns,
                before,
                command.is_continuation,
            )
        except EngineError:
            self._sampler.finish(command.request_id)
            raise
        except Exception:
            # nobody knows what an unforeseen fault left in the KV cache: re-use nothing of it
            self._session.forget()
            raise
        self._sampler.finish(command.request_id)
        self._emit(
            GenerationFinished(
                request_id=command.request_id,
                text=result.text,
                reason=result.reason,
                usage=result.usage,
                ttft=result.ttft,
            )
        )

    def _count_tokens(self, command: CountTokens) -> None:
        if self._session is None or self.model is None:
            raise StateError("No model is loaded, so nothing can be counted.", "Load a model first.")
        self._emit(
            TokensCounted(
                request_id=command.request_id,
                tokens=self._session.count_tokens(command.messages),
                context_tokens=self.model.context_tokens,
            )
        )

    # --- warming up ---------------------------------------------------------------------------

    def _warm_up(self, command: WarmUp, token: CancelToken) -> None:
        if self._backend is None or self._sampler is None or self.model is None:
            raise StateError("No model is loaded, so nothing can be warmed up.", "Load a model first.")
        self._enter(EngineState.WARMING_UP, command.request_id)
        start_ns = self._clock()
        sampler, meter = self._sampler, WarmUpMeter(self._emit, self._clock, command.request_id)

        def report(progress: WarmUpReport) -> None:
            meter.report(progress.done_experts, progress.total_experts, progress.bytes_read)
            sampler.pass_done(command.request_id)
            self._stop_if_exiting(token)

        try:
            result = self._backend.warm_up(report, token)
        finally:
            meter.flush()
            sampler.finish(command.request_id)
            self._warm_up_span = WarmUpSpan(start_ns, self._clock())
        self._emit(
            WarmUpFinished(
                request_id=command.request_id,
                experts_loaded=result.experts_loaded,
                bytes_read=result.bytes_read,
                elapsed_ns=result.elapsed_ns,
                expected_hit_rate_before=result.expected_hit_rate_before,
                expected_hit_rate_after=result.expected_hit_rate_after,
                is_profile_saved=result.is_profile_saved,
            )
        )

    def _serve_shutdown(self) -> None:
        try:
            self._free_model()
        except Exception as error:  # noqa: BLE001 - closing goes on; the fault is reported
            self._emit(RequestFailed(error=error_info(error)))
        self._enter(EngineState.CLOSED, 0)
