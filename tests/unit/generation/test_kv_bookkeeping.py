"""Random conversations with cancels and failures: the session always knows what the cache holds."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.base import CancelToken
from engine.config import ChatMessage, SamplingSettings
from engine.errors import Cancelled, ContextFullError, DiskReadError
from engine.generation.chat_session import ChatSession
from engine.generation.chat_template import ChatTemplate
from tests.support.scripted_backend import END, RecordingSink, ScriptedBackend, model_info


@dataclass(frozen=True)
class Turn:
    """What the user does, what the model answers, and what goes wrong at which evaluation."""

    is_new_chat: bool
    message: str
    answer: bytes
    fault: str
    fault_at: int
    stop: str
    max_tokens: int | None


TURNS = st.builds(
    Turn,
    is_new_chat=st.booleans(),
    message=st.text("ab日\n ", max_size=12),
    answer=st.binary(max_size=10) | st.text("ab日👍\n", max_size=6).map(str.encode),
    fault=st.sampled_from(["none", "cancel inside", "cancel after", "error"]),
    fault_at=st.integers(0, 12),
    stop=st.sampled_from(["", "b", "a\n", "日"]),
    max_tokens=st.none() | st.integers(1, 8),
)


def _plan_fault(backend: ScriptedBackend, turn: Turn, cancel: CancelToken) -> None:
    first = len(backend.evaluations)

    def on_evaluate(number: int) -> None:
        if number - first != turn.fault_at or turn.fault == "none":
            return
        if turn.fault == "error":
            raise DiskReadError("The read came back short.")
        cancel.cancel()
        if turn.fault == "cancel inside":
            raise Cancelled

    backend.on_evaluate = on_evaluate


@settings(max_examples=150)
@given(st.lists(TURNS, max_size=6), st.booleans(), st.integers(1, 9), st.sampled_from([60, 120, 4096]))
def test_session_tokens_are_what_the_cache_holds(
    turns: list[Turn], can_cut: bool, unit: int, context: int
) -> None:
    backend = ScriptedBackend(can_cut=can_cut)
    session = ChatSession(
        backend, model_info(context, unit), ChatTemplate(None, "<s>", "</s>"), backend.clock
    )
    history: list[ChatMessage] = []
    for turn in turns:
        history = [] if turn.is_new_chat else history
        history.append(ChatMessage("user", turn.message))
        cancel, sink = CancelToken(), RecordingSink()
        _plan_fault(backend, turn, cancel)
        backend.script = iter([*turn.answer, END])
        sampling = SamplingSettings(max_tokens=turn.max_tokens, stop=(turn.stop,))
        held_before = list(backend.kv)
        try:
            result = session.answer(history, sampling, sink, cancel)
        except DiskReadError:
            assert turn.fault == "error"
        except ContextFullError:
            assert backend.kv == held_before
        else:
            # the scripted sampler has checked that each token followed exactly prompt + answer
            assert result.text == sink.shown
            assert not turn.stop or turn.stop not in result.text
            assert result.usage.prompt_tokens + result.usage.completion_tokens <= context
            history.append(ChatMessage("assistant", result.text))
        assert list(session.tokens) == backend.kv
        assert backend.open_samplers == 0
