"""Golden event sequences and what the store makes of them."""

from __future__ import annotations

from app.expert_history import HeatWindow, Phase
from app.telemetry_store import ANSWERS_KEPT, TelemetryStore
from engine.errors import ErrorInfo
from engine.events import (
    EngineState,
    GenerationStarted,
    LoadPhase,
    LoadProgress,
    LoadStarted,
    ModelUnloaded,
    PrefillProgress,
    RequestFailed,
    TextDelta,
    TtftPhases,
    WarmUpFinished,
    WarmUpProgress,
)
from tests.support.telemetry_events import (
    answer_event,
    counters_event,
    experts_event,
    load_events,
    model_info,
    state_event,
)


def test_a_load_and_an_answer() -> None:
    store = TelemetryStore()
    store.apply(load_events(model_info()))
    assert store.state is EngineState.READY
    store.apply(
        [
            counters_event(1, bytes_read=100),
            state_event(9, EngineState.GENERATING),
            counters_event(10, bytes_read=600, expert_requests=40, expert_misses=10, evictions=3),
            answer_event(11, TtftPhases(queue_ns=5)),
        ]
    )
    window = store.rates.window(1)
    assert window is not None
    assert (window.bytes_per_second, window.hit_share, window.evictions_per_second) == (500.0, 0.75, 3.0)
    assert store.counters is not None
    assert store.counters.bytes_read == 600
    assert [(a.number, a.model_name, a.ttft.total_ns) for a in store.answers] == [(1, "Tiny", 5)]


def test_text_does_not_ask_for_drawing() -> None:
    store = TelemetryStore()
    store.apply([TextDelta(t_ns=1, text="a", completion_tokens=1)])
    assert store.version == 0
    store.apply([counters_event(1)])
    assert store.version == 1


def test_another_model_has_its_own_counters_and_experts() -> None:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), counters_event(1, bytes_read=10**9)])
    store.apply([experts_event(1, [[5] * 8] * 3)])
    store.apply(load_events(model_info((1, 2), 4), 5))
    assert store.experts is None
    assert store.counters is None
    store.apply([counters_event(6, bytes_read=2 * 10**9), experts_event(6, [[1] * 4] * 2, moe_layers=(1, 2))])
    # the new model's bytes may exceed the old one's: still no rate across the load
    assert store.rates.window(60) is None
    assert store.experts is not None
    assert store.experts.uses(Phase.BOTH, HeatWindow.SESSION).shape == (2, 4)


def test_figures_sampled_during_the_load_survive_its_end() -> None:
    store = TelemetryStore()
    started, loading, loaded, ready = load_events(model_info())
    store.apply([started, loading, experts_event(0, [[0] * 8] * 3), loaded, ready])
    assert store.experts is not None


def test_unload_forgets_the_model_but_not_the_answers() -> None:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), answer_event(1, TtftPhases()), ModelUnloaded(t_ns=2)])
    assert store.model is None
    assert len(store.answers) == 1


def test_load_progress_stays_until_the_load_is_over() -> None:
    store = TelemetryStore()
    started, loading, loaded, ready = load_events(model_info())
    progress = LoadProgress(phase=LoadPhase.SLOTS, done_bytes=0, total_bytes=0, bytes_per_second=0.0)
    store.apply([started, loading, progress, loaded])
    assert store.load_progress is progress
    store.apply([ready])
    assert store.load_progress is None


def test_progress_lasts_as_long_as_its_request() -> None:
    store = TelemetryStore()
    progress = LoadProgress(phase=LoadPhase.DENSE_READ, done_bytes=1, total_bytes=2, bytes_per_second=3.0)
    store.apply([LoadStarted(path="x"), progress])
    assert store.load_progress is progress
    store.apply([RequestFailed(error=ErrorInfo("Cancelled", "Stopped.", ""))])
    assert store.load_progress is None
    prefill = PrefillProgress(done_tokens=1, total_tokens=9, cached_tokens=0, elapsed_ns=1)
    store.apply([prefill])
    assert store.prefill_progress is prefill
    store.apply([GenerationStarted(prompt_tokens=1, cached_tokens=0, context_tokens=9)])
    assert store.prefill_progress is None


def test_answers_are_bounded_and_numbered_on() -> None:
    store = TelemetryStore()
    store.apply([answer_event(i, TtftPhases()) for i in range(ANSWERS_KEPT + 5)])
    assert len(store.answers) == ANSWERS_KEPT
    assert store.answers[-1].number == ANSWERS_KEPT + 5


def test_a_warm_up_is_known_until_the_model_goes() -> None:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), state_event(1, EngineState.WARMING_UP)])
    progress = WarmUpProgress(t_ns=2, done_experts=1, total_experts=2, bytes_read=3)
    done = WarmUpFinished(
        t_ns=3, experts_loaded=2, bytes_read=6, elapsed_ns=1, expected_hit_rate_before=0.5,
        expected_hit_rate_after=0.75, is_profile_saved=True,
    )  # fmt: skip
    store.apply([progress])
    assert store.warm_up_progress is progress
    store.apply([done, state_event(3, EngineState.READY)])
    assert (store.warm_up_progress, store.warm_up) == (None, done)
    store.apply(load_events(model_info(), 4))
    assert store.warm_up is None
