"""One conversation's KV cache and the loop that answers with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from engine.backends.base import CancelToken, InferenceBackend, Sampler
from engine.config import ChatMessage, Routing, SamplingSettings
from engine.errors import Cancelled, ContextFullError, UsageError
from engine.events import FinishReason, TtftPhases, Usage
from engine.generation.answer_meter import AnswerMeter
from engine.generation.answer_text import AnswerText
from engine.generation.chat_template import ChatTemplate
from engine.generation.opening_tag import opening_tag
from engine.generation.prompt_prefix import split_prompt
from engine.model_facts import ModelInfo


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """A finished (or stopped) answer: `text` is what was shown."""

    text: str
    reason: FinishReason
    usage: Usage
    ttft: TtftPhases


class GenerationSink(Protocol):
    """Receives progress on the engine thread; must return at once (under 1 ms)."""

    def started(self, prompt_tokens: int, cached_tokens: int) -> None:
        """The prompt is tokenised; `cached_tokens` of it need no prefill."""

    def prefill(self, done: int, total: int, cached: int, elapsed_ns: int) -> None:
        """`done` of `total` prompt tokens are in the KV cache, `cached` of them re-used."""

    def text(self, delta: str, completion_tokens: int) -> None:
        """Whole characters to append (never empty); tokens so far."""

    def pass_done(self) -> None:
        """One pass through all layers is complete."""


@dataclass(slots=True)
class _Answer:
    """State of the answer in progress."""

    sampling: SamplingSettings
    sink: GenerationSink
    cancel: CancelToken
    meter: AnswerMeter
    text: AnswerText
    prompt: tuple[int, ...] = ()
    cached_tokens: int = 0
    completion_tokens: int = 0

    def show(self, delta: str) -> None:
        if delta:
            self.meter.text_shown()
            self.sink.text(delta, self.completion_tokens)


class ChatSession:
    """Answers messages with a loaded model and knows which tokens its KV cache holds.

    Lives and works on the engine thread. After any outcome (finished, cancelled, failed) `tokens` is
    what the cache holds, so the next answer re-uses as much of it as its prompt shares. With exact routing
    only tokens that were computed so are re-used.
    """

    def __init__(
        self,
        backend: InferenceBackend,
        info: ModelInfo,
        template: ChatTemplate,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._backend = backend
        self._info = info
        self._template = template
        self._clock = clock
        self._tokens: list[int] = []
        self._exact_tokens = 0  # so many tokens from the first on were computed with exact routing

    @property
    def tokens(self) -> tuple[int, ...]:
        """Token ids now in the KV cache, by position."""
        return tuple(self._tokens)

    def adopt(self, info: ModelInfo) -> None:
        """Between answers: the model goes on with other settings.

        Keys and values computed with resident routing are no longer those of stock llama.cpp, so exact
        routing goes on from before them.
        """
        self._info = info
        if self._is_exact:
            self._keep_prefix(self._exact_tokens)

    @property
    def _is_exact(self) -> bool:
        return self._info.routing is not Routing.RESIDENT

    def forget(self) -> None:
        """Empty the KV cache, so that the next prompt is evaluated in full."""
        self._keep_prefix(0)

    def answer(
        self,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        sink: GenerationSink,
        cancel: CancelToken,
        queue_ns: int = 0,
        before: tuple[int, int, int] = (0, 0, 0),
        is_continuation: bool = False,
    ) -> GenerationResult:
        """Answer the conversation; returns when the answer ends or within a step of `cancel`.

        A continuation goes on with the last message, an assistant's; the result holds only what is new.
        If the template ends the prompt with a tag that opens the thinking, the answer begins with that tag.
        `queue_ns` and `before` (load_ns, initialise_ns, warm_up_ns) are times already spent on this request.
        Raises TemplateError, ContextFullError, UsageError, or what the backend raises.
        """
        meter = self._meter(queue_ns, before)
        rendered = (
            self._template.continuation(messages) if is_continuation else self._template.render(messages)
        )
        prompt = self._fitting(self._tokenize(rendered))
        opening = "" if is_continuation else opening_tag(rendered)
        text = AnswerText((*self._template.stops, *sampling.stop), opening)
        return self._generate(_Answer(sampling, sink, cancel, meter, text, prompt))

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the prompt that `answer` would evaluate, also if they don't fit. Raises as `answer`."""
        return len(self._tokenize(self._template.render(messages)))

    def generate_from_text(
        self,
        prompt: str,
        sampling: SamplingSettings,
        sink: GenerationSink,
        cancel: CancelToken,
        queue_ns: int = 0,
        before: tuple[int, int, int] = (0, 0, 0),
    ) -> GenerationResult:
        """Continue raw text, without the chat template; otherwise as `answer`."""
        meter = self._meter(queue_ns, before)
        tokens = self._fitting(self._tokenize(prompt))
        return self._generate(_Answer(sampling, sink, cancel, meter, AnswerText(sampling.stop), tokens))

    def _meter(self, queue_ns: int, before: tuple[int, int, int]) -> AnswerMeter:
        return AnswerMeter(self._clock, self._backend.counters, queue_ns, before)

    def _tokenize(self, text: str) -> tuple[int, ...]:
        bos = self._template.bos
        # a template that writes the begin token itself must not get a second one
        has_bos = bool(bos) and text.startswith(bos)
        tokens = tuple(self._backend.tokenize(text, add_special=not has_bos, parse_special=True))
        if not tokens:
            raise UsageError("The prompt is empty.", "Write a message first.")
        return tokens

    def _fitting(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """The same tokens, which leave room for an answer."""
        if len(tokens) >= self._info.context_tokens:
            raise ContextFullError(
                f"The conversation takes {len(tokens)} tokens, but the context window holds "
                f"{self._info.context_tokens} and must keep room for the answer.",
                "Start a new chat, shorten the messages, or load the model with a larger context.",
            )
        return tokens

    def _generate(self, answer: _Answer) -> GenerationResult:
        answer.meter.prompt_ready()
        with closing(self._backend.open_sampler(answer.sampling, answer.prompt)) as sampler:
            reason = self._run(answer, sampler)
        answer.show(answer.text.finish(reason))
        ttft = answer.meter.phases()
        usage = answer.meter.usage(len(answer.prompt), answer.cached_tokens, answer.completion_tokens)
        return GenerationResult(answer.text.text, reason, usage, ttft)

    def _run(self, answer: _Answer, sampler: Sampler) -> FinishReason:
        try:
            self._prefill(answer)
        except Cancelled:
            answer.meter.prefill_ended()
            return FinishReason.CANCELLED
        answer.meter.prefill_ended()
        try:
            return self._decode(answer, sampler)
        except Cancelled:
            return FinishReason.CANCELLED

    def _prefill(self, answer: _Answer) -> None:
        total = len(answer.prompt)
        done = self._keep_prefix(split_prompt(self._tokens, answer.prompt).keep)
        answer.cached_tokens = done
        answer.sink.started(total, done)
        while done < total:
            piece = answer.prompt[done : done + self._info.unit_tokens]
            self._evaluate(piece, is_prefill=True, cancel=answer.cancel)
            done += len(piece)
            answer.sink.prefill(done, total, answer.cached_tokens, answer.meter.prefill_elapsed_ns())
            answer.sink.pass_done()

    def _decode(self, answer: _Answer, sampler: Sampler) -> FinishReason:
        while True:
            answer.cancel.check()
            token = sampler.sample()
            if self._backend.is_end_token(token):
                return FinishReason.END_OF_TEXT
            answer.completion_tokens += 1
            answer.show(answer.text.add(self._backend.token_bytes(token)))
            reason = self._limit_reached(answer)
            if reason is not None:
                return reason
            self._evaluate((token,), is_prefill=False, cancel=answer.cancel)
            answer.sink.pass_done()

    def _limit_reached(self, answer: _Answer) -> FinishReason | None:
        if answer.text.is_stopped:
            return FinishReason.STOP_STRING
        if answer.completion_tokens == answer.sampling.max_tokens:
            return FinishReason.MAX_TOKENS
        if len(answer.prompt) + answer.completion_tokens >= self._info.context_tokens:
            return FinishReason.CONTEXT_FULL
        return None

    def _keep_prefix(self, n_tokens: int) -> int:
        """Cut the KV cache; if that fails its content is unknown and nothing of it is used again."""
        cached, self._tokens = self._tokens, []
        kept = self._backend.keep_prefix(n_tokens)
        self._tokens = cached[:kept]
        self._exact_tokens = min(self._exact_tokens, kept)
        return kept

    def _evaluate(self, tokens: Sequence[int], is_prefill: bool, cancel: CancelToken) -> None:
        """Append tokens to the KV cache; on cancel or error it stays as it was."""
        cancel.check()
        self._backend.evaluate(tokens, len(self._tokens), is_prefill, cancel)
        if self._is_exact:
            self._exact_tokens = len(self._tokens) + len(tokens)
        self._tokens.extend(tokens)
