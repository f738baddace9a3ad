from __future__ import annotations

import pytest

from engine.backends.base import CancelToken
from engine.config import ChatMessage, SamplingSettings
from engine.errors import Cancelled, ContextFullError, DiskReadError, NativeError, UsageError
from engine.events import FinishReason
from engine.generation.chat_session import ChatSession, GenerationResult
from engine.generation.chat_template import ChatTemplate
from tests.support.scripted_backend import BOS, END, RecordingSink, ScriptedBackend, model_info

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
IM_END = 259
GREEDY = SamplingSettings(temperature=0)


def _session(
    backend: ScriptedBackend, context: int = 4096, unit: int = 16, source: str | None = CHATML
) -> ChatSession:
    template = ChatTemplate(source, "<s>", "</s>")
    return ChatSession(backend, model_info(context, unit), template, backend.clock)


def _raw(
    session: ChatSession, prompt: str, sampling: SamplingSettings = GREEDY, sink: RecordingSink | None = None
) -> GenerationResult:
    return session.generate_from_text(prompt, sampling, sink or RecordingSink(), CancelToken())


def test_answer_ends_at_the_end_token_and_reports_every_step() -> None:
    backend, sink = ScriptedBackend([*b" Hi", END]), RecordingSink()
    result = _raw(_session(backend, unit=4), "abcdef", sink=sink)  # begin token + 6
    assert (result.text, result.reason) == (" Hi", FinishReason.END_OF_TEXT)
    assert [call[:3] for call in sink.of("prefill")] == [(4, 7, 0), (7, 7, 0)]
    assert sink.of("text") == [(" ", 1), ("H", 2), ("i", 3)]
    kinds = [call[0] for call in sink.calls]
    assert kinds == ["started", *["prefill", "pass"] * 2, *["text", "pass"] * 3]
    assert backend.evaluations == [(4, 0, True), (3, 4, True), (1, 7, False), (1, 8, False), (1, 9, False)]
    assert backend.sampler_prompts == [(BOS, *b"abcdef")]
    assert backend.open_samplers == 0


def test_usage_is_the_difference_of_the_counters() -> None:
    backend = ScriptedBackend()
    session = _session(backend)
    _raw(session, "first")
    backend.script = iter([*b"abc", END])
    usage = _raw(session, "fire").usage  # re-uses the begin token and "fir"
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (5, 4, 3)
    assert (usage.prefill_ns, usage.decode_ns) == (1_000_000, 3_000_000)
    assert (usage.bytes_read, usage.disk_wait_ns) == (40, 1 * 3 + 3 * 5)


def test_phases_add_up_to_the_measured_time() -> None:
    backend = ScriptedBackend("日later".encode())
    session = _session(backend)
    first_text_ns: list[int] = []

    class Sink(RecordingSink):
        def text(self, delta: str, completion_tokens: int) -> None:
            first_text_ns.append(backend.now_ns)

    start_ns = backend.now_ns + 7  # the first reading of the clock
    ttft = session.generate_from_text("abcd", GREEDY, Sink(), CancelToken(), 1000, (200, 30, 4)).ttft
    assert ttft.total_ns == 1000 + 200 + 30 + 4 + first_text_ns[0] - start_ns
    assert (ttft.queue_ns, ttft.load_ns, ttft.initialise_ns, ttft.warm_up_ns) == (1000, 200, 30, 4)
    assert ttft.template_ns == 7
    assert ttft.prefill_ns == 5_000_000 + 2 * 7  # 5 tokens; read after the piece and at the end
    assert ttft.first_decode_ns == 2_000_000 + 7  # the character is complete with its third token
    assert ttft.prefill_disk_wait_ns == 5 * 3
    assert ttft.prefill_transfer_wait_ns == 5 * 2
    assert ttft.first_paint_ns == 0  # a window's to know


def test_stop_string_split_over_tokens_is_not_shown() -> None:
    backend, sink = ScriptedBackend(b"one\nEND two"), RecordingSink()
    result = _raw(_session(backend), "x", SamplingSettings(stop=("\nEND",)), sink)
    assert (result.text, result.reason) == ("one", FinishReason.STOP_STRING)
    assert sink.shown == "one"
    assert result.usage.completion_tokens == 7
    assert backend.kv == [BOS, *b"xone\nEN"]  # the last sampled token was not evaluated


def test_plain_fallback_stops_before_the_next_turn() -> None:
    backend = ScriptedBackend(b" Yes.\nUser: and")
    session = _session(backend, source=None)
    sink = RecordingSink()
    result = session.answer([ChatMessage("user", "Well?")], GREEDY, sink, CancelToken())
    assert (result.text, result.reason) == (" Yes.", FinishReason.STOP_STRING)
    assert backend.tokenized == [("User: Well?\nAssistant:", True, True)]


def test_max_tokens() -> None:
    backend = ScriptedBackend(b"abcdef")
    result = _raw(_session(backend), "x", SamplingSettings(max_tokens=3))
    assert (result.text, result.reason) == ("abc", FinishReason.MAX_TOKENS)
    assert backend.kv == [BOS, *b"xab"]


def test_prompt_and_answer_never_exceed_the_context() -> None:
    backend = ScriptedBackend(b"abcdefgh")
    result = _raw(_session(backend, context=8), "12345")
    assert (result.text, result.reason) == ("ab", FinishReason.CONTEXT_FULL)
    assert result.usage.prompt_tokens + result.usage.completion_tokens == 8


def test_prompt_that_leaves_no_room_is_refused_before_anything_changes() -> None:
    backend = ScriptedBackend(b"a")
    session = _session(backend, context=8)
    assert _raw(session, "123456").text == "a"
    before = list(backend.kv)
    with pytest.raises(ContextFullError, match=r"takes 8 tokens.* holds 8 .*larger context"):
        _raw(session, "1234567")
    assert backend.kv == list(session.tokens) == before
    assert backend.open_samplers == 0


def test_empty_prompt_is_refused() -> None:
    backend = ScriptedBackend()
    session = ChatSession(backend, model_info(), ChatTemplate(CHATML, "<s>", "</s>"))
    with pytest.raises(UsageError, match="empty"):
        _raw_without_begin_token(session, backend)


def _raw_without_begin_token(session: ChatSession, backend: ScriptedBackend) -> None:
    backend.tokenize = lambda text, add_special, parse_special: []  # type: ignore[method-assign] # no begin token
    _raw(session, "")


@pytest.mark.parametrize(
    ("bos", "prompt", "expects_special"),
    [("<s>", "<s>Hi", False), ("<s>", "Hi", True), ("", "Hi", True)],
)
def test_begin_token_is_added_once(bos: str, prompt: str, expects_special: bool) -> None:
    backend = ScriptedBackend()
    session = ChatSession(backend, model_info(), ChatTemplate(CHATML, bos, ""))
    _raw(session, prompt)
    assert backend.tokenized == [(prompt, expects_special, True)]


def test_second_turn_evaluates_only_what_is_new() -> None:
    answer = b"The sea is deep. " * 20
    backend = ScriptedBackend([*answer, IM_END])
    session = _session(backend)
    question = [ChatMessage("user", "Tell me of the sea.")]
    first = session.answer(question, GREEDY, RecordingSink(), CancelToken())
    backend.script = iter([*b"Yes", IM_END])
    turns = [*question, ChatMessage("assistant", first.text), ChatMessage("user", "Really?")]
    sink = RecordingSink()
    second = session.answer(turns, GREEDY, sink, CancelToken())
    in_cache = first.usage.prompt_tokens + len(answer)
    # new: end of the answer and line break, the user's turn, the assistant's header
    new = 2 + len("user\n") + 1 + len("Really?") + 2 + 1 + len("assistant\n")
    assert (second.usage.cached_tokens, second.usage.prompt_tokens) == (in_cache, in_cache + new)
    assert sink.of("started") == [(in_cache + new, in_cache)]
    assert second.usage.cached_tokens > 0.95 * in_cache


def test_regenerating_evaluates_one_token() -> None:
    backend = ScriptedBackend([*b"one", END, *b"two", END])
    session = _session(backend)
    assert _raw(session, "prompt").text == "one"
    result = _raw(session, "prompt")
    assert (result.text, result.usage.cached_tokens) == ("two", 6)
    assert backend.evaluations[4] == (1, 6, True)


def test_cache_that_cannot_be_cut_is_filled_again() -> None:
    backend = ScriptedBackend([*b"one", END, *b"two", END], can_cut=False)
    session = _session(backend)
    _raw(session, "prompt")
    result = _raw(session, "prompt")
    assert (result.text, result.usage.cached_tokens) == ("two", 0)
    assert session.tokens == tuple(backend.kv)


def test_forget_makes_the_next_prompt_cold() -> None:
    backend = ScriptedBackend()
    session = _session(backend)
    _raw(session, "prompt")
    session.forget()
    assert (session.tokens, backend.kv) == ((), [])
    assert _raw(session, "prompt").usage.cached_tokens == 0


@pytest.mark.parametrize("is_seen_inside", [True, False])
@pytest.mark.parametrize("step", range(8))
def test_cancel_at_every_step_keeps_what_was_evaluated(step: int, is_seen_inside: bool) -> None:
    backend, cancel, sink = ScriptedBackend([*b"abcd", END]), CancelToken(), RecordingSink()

    def on_evaluate(number: int) -> None:
        if number == step:
            cancel.cancel()
            if is_seen_inside:
                raise Cancelled

    backend.on_evaluate = on_evaluate
    session = _session(backend, unit=4)
    # 12 prompt tokens: evaluations 0-2 are prefill, 3-6 decode
    result = session.generate_from_text("hello world", GREEDY, sink, cancel)
    prompt = (BOS, *b"hello world")
    expected_reason = FinishReason.END_OF_TEXT if step == 7 else FinishReason.CANCELLED
    assert result.reason == expected_reason
    assert result.text == sink.shown == ("abcd"[: max(0, step - 2)] if step < 7 else "abcd")
    evaluated = min(step + (0 if is_seen_inside else 1), 7)
    expected = prompt[: 4 * evaluated] + tuple(b"abcd"[: max(0, evaluated - 3)])
    assert session.tokens == tuple(backend.kv) == expected
    assert backend.open_samplers == 0

    backend.on_evaluate = lambda number: None
    backend.script = iter([END])
    again = _raw(session, "hello world")
    assert again.usage.cached_tokens == min(4 * evaluated, 11)


def test_cancel_during_prefill_gives_consistent_phases() -> None:
    backend, cancel = ScriptedBackend(), CancelToken()

    def on_evaluate(number: int) -> None:
        if number == 1:
            raise Cancelled

    backend.on_evaluate = on_evaluate
    start_ns = backend.now_ns + 7
    result = _session(backend, unit=4).generate_from_text("hello", GREEDY, RecordingSink(), cancel)
    assert result.ttft.total_ns == backend.now_ns - start_ns
    assert result.ttft.prefill_ns >= 4_000_000
    assert (result.usage.completion_tokens, result.usage.prefill_ns) == (0, 4_000_000)


def test_cancel_before_the_start_shows_nothing() -> None:
    backend, cancel = ScriptedBackend(b"abc"), CancelToken()
    cancel.cancel()
    result = _session(backend).generate_from_text("hello", GREEDY, RecordingSink(), cancel)
    assert (result.text, result.reason, backend.evaluations) == ("", FinishReason.CANCELLED, [])


@pytest.mark.parametrize("step", [0, 1, 3])
def test_failure_propagates_and_leaves_the_cache_usable(step: int) -> None:
    backend = ScriptedBackend([*b"ab", END])

    def on_evaluate(number: int) -> None:
        if number == step:
            raise DiskReadError("The read came back short.")

    backend.on_evaluate = on_evaluate
    session = _session(backend, unit=4)
    with pytest.raises(DiskReadError):
        _raw(session, "hello")
    assert session.tokens == tuple(backend.kv)
    assert backend.open_samplers == 0
    backend.on_evaluate = lambda number: None
    backend.script = iter([*b"ok", END])
    assert _raw(session, "hello").text == "ok"


def test_after_a_failed_cut_the_cache_is_not_trusted() -> None:
    backend = ScriptedBackend()
    session = _session(backend)
    _raw(session, "hello")
    cut = backend.keep_prefix

    def fail(n_tokens: int) -> int:
        raise NativeError("llama.cpp failed.")

    backend.keep_prefix = fail  # type: ignore[method-assign] # one failing call
    with pytest.raises(NativeError):
        _raw(session, "hello")
    backend.keep_prefix = cut  # type: ignore[method-assign] # sound again
    result = _raw(session, "hello")
    assert (result.usage.cached_tokens, session.tokens) == (0, tuple(backend.kv))


def test_sampler_is_closed_when_the_sink_fails() -> None:
    class Sink(RecordingSink):
        def text(self, delta: str, completion_tokens: int) -> None:
            raise RuntimeError("sink")

    backend = ScriptedBackend(b"abc")
    session = _session(backend)
    with pytest.raises(RuntimeError, match="sink"):
        _raw(session, "x", sink=Sink())
    assert backend.open_samplers == 0
    assert session.tokens == tuple(backend.kv)


def test_unfinished_character_is_dropped_at_a_limit() -> None:
    backend = ScriptedBackend("a日".encode())
    result = _raw(_session(backend), "x", SamplingSettings(max_tokens=3))
    assert result.text == "a"
