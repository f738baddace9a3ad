"""The simulated model keeps the promises of InferenceBackend and of its script."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import CancelToken, InferenceBackend, LoadReport, LoadResult
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import LoadSettings, SamplingSettings
from engine.errors import Cancelled, ContextFullError, DiskReadError, ModelFileError, StateError
from engine.events import Counters, LoadPhase
from tests.support.virtual_time import VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"))
PROMPT = list(range(300, 400))


class Simulation:
    """A backend on virtual time."""

    def __init__(self, script: FakeScript | None = None, at_sleep: Callable[[], None] | None = None) -> None:
        self.time = VirtualTime()
        self.token = CancelToken()
        self.reports: list[tuple[LoadReport, int]] = []
        self._at_sleep = at_sleep or (lambda: None)
        self.backend = FakeBackend(script, self.time.clock, self._sleep)

    def load(self, settings: LoadSettings = LOAD) -> LoadResult:
        return self.backend.load(settings, self._report, self.token)

    def prefill(self, tokens: list[int] = PROMPT, position: int = 0) -> Counters:
        """Counters that one prefill adds: only the ones asked for below are meaningful."""
        before = self.backend.counters()
        self.backend.evaluate(tokens, position, is_prefill=True, cancel=self.token)
        after = self.backend.counters()
        return Counters(
            expert_misses=after.expert_misses - before.expert_misses,
            expert_streamed=after.expert_streamed - before.expert_streamed,
            disk_wait_prefill_ns=after.disk_wait_prefill_ns - before.disk_wait_prefill_ns,
        )

    def say(self, prompt: str) -> str:
        """The whole answer to a prompt."""
        tokens = self.backend.tokenize(prompt, add_special=True, parse_special=True)
        self.backend.keep_prefix(0)
        self.prefill(tokens)
        sampler = self.backend.open_sampler(SamplingSettings(), tokens)
        text, position = b"", len(tokens)
        while not self.backend.is_end_token(token := sampler.sample()):
            text += self.backend.token_bytes(token)
            self.backend.evaluate([token], position, is_prefill=False, cancel=self.token)
            position += 1
        sampler.close()
        return text.decode()

    def _report(self, report: LoadReport) -> None:
        self.reports.append((report, self.time.now_ns))

    def _sleep(self, seconds: float) -> None:
        assert seconds <= 0.01
        self._at_sleep()
        self.time.sleep(seconds)


def loaded(script: FakeScript | None = None) -> Simulation:
    simulation = Simulation(script)
    simulation.load()
    return simulation


def test_satisfies_the_protocol() -> None:
    backend: InferenceBackend = FakeBackend()
    backend.unload()
    backend.unload()
    assert backend.experts() is None


def test_says_that_it_is_simulated() -> None:
    result = Simulation().load()
    assert result.info.name.startswith("Simulated")
    assert result.info.architecture == "simulated"
    assert "simulated" in result.info.notes[0]
    assert FakeScript().default_answer.startswith("*This answer is simulated")


def test_load_takes_the_scripted_time_and_reports_every_second() -> None:
    simulation = Simulation(FakeScript(load_seconds=120.0, initialise_seconds=2.0))
    result = simulation.load()
    assert result.load_ns == pytest.approx(120e9, rel=1e-6)
    assert result.initialise_ns == pytest.approx(2e9, rel=1e-6)
    times = [time for _, time in simulation.reports]
    assert max(b - a for a, b in itertools.pairwise(times)) < 1e9
    phases = list(dict.fromkeys(report.phase for report, _ in simulation.reports))
    assert phases == list(LoadPhase)
    dense = [report.done_bytes for report, _ in simulation.reports if report.phase is LoadPhase.DENSE_READ]
    assert dense == sorted(dense)
    assert (dense[0], dense[-1]) == (0, FakeScript().dense_bytes)


def test_load_failure_comes_halfway_and_nothing_stays() -> None:
    simulation = Simulation(FakeScript(load_failure=ModelFileError("Cut short.")))
    with pytest.raises(ModelFileError, match="Cut short"):
        simulation.load()
    assert simulation.reports[-1][0].done_bytes == FakeScript().dense_bytes // 2
    with pytest.raises(StateError):
        simulation.prefill()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Tell me about experts", FakeScript().default_answer),
        ("<user>\nShow me CODE please", FakeScript().answers[0][1]),
        ("<user>\ncode<|end|>\n<assistant>\nHere<|end|>\n<user>\na table", FakeScript().answers[1][1]),
    ],
)
def test_the_last_message_chooses_the_answer(prompt: str, expected: str) -> None:
    assert loaded().say(prompt) == expected


def test_same_seed_same_figures() -> None:
    first, second, other = loaded(), loaded(), loaded(FakeScript(seed=2))
    for simulation in (first, second, other):
        simulation.say("Hello")
    assert first.backend.counters() == second.backend.counters()
    assert first.backend.counters() != other.backend.counters()
    assert first.time.now_ns == second.time.now_ns


def test_logits_agree_with_the_sampler() -> None:
    simulation = loaded()
    simulation.prefill()
    sampled = simulation.backend.open_sampler(SamplingSettings(), PROMPT).sample()
    assert int(np.argmax(simulation.backend.logits())) == sampled


def test_times_of_a_dense_model_are_the_script_s() -> None:
    script = FakeScript(n_expert=0, prefill_token_seconds=0.02, decode_token_seconds=0.05)
    simulation = loaded(script)
    simulation.prefill()
    simulation.backend.evaluate([300], 100, is_prefill=False, cancel=simulation.token)
    counters = simulation.backend.counters()
    assert counters.prefill_ns == pytest.approx(100 * 0.02e9, rel=1e-6)
    assert counters.decode_ns == pytest.approx(0.05e9, rel=1e-6)
    assert (counters.disk_wait_ns, counters.expert_requests) == (0, 0)
    assert simulation.backend.experts() is None
    assert simulation.backend.layers() is None


def test_warm_prefill_reads_less_and_waits_less() -> None:
    simulation = loaded(FakeScript(disk_bytes_per_second=0.5e9))
    cold = simulation.prefill()
    for _ in range(3):
        warm = simulation.prefill()
    assert warm.expert_misses + warm.expert_streamed < 0.7 * (cold.expert_misses + cold.expert_streamed)
    assert warm.disk_wait_prefill_ns < cold.disk_wait_prefill_ns


def test_bytes_are_the_reads_and_decode_waits_for_all_of_them() -> None:
    script = FakeScript(expert_bytes=1_000_000, disk_bytes_per_second=1e9)
    simulation = loaded(script)
    for position in range(20):
        simulation.backend.evaluate([300], position, is_prefill=False, cancel=simulation.token)
    counters = simulation.backend.counters()
    assert counters.bytes_by_reason["miss"] == counters.expert_misses * 1_000_000
    assert counters.bytes_read == script.dense_bytes + counters.expert_misses * 1_000_000
    # 1 MB at 1 GB/s is 1 ms
    assert counters.disk_wait_decode_ns == pytest.approx(counters.expert_misses * 1e6, rel=1e-6)
    assert counters.expert_requests == 20 * 24 * 4


def test_figures_of_layers_add_up_to_the_counters() -> None:
    simulation = loaded(FakeScript(disk_bytes_per_second=0.4e9))
    simulation.prefill()
    for position in range(100, 110):
        simulation.backend.evaluate([300], position, is_prefill=False, cancel=simulation.token)
    counters, layers = simulation.backend.counters(), simulation.backend.layers()
    assert layers is not None
    assert layers.moe_layers == tuple(range(24))
    assert tuple(map(sum, layers.disk_wait_ns)) == (
        counters.disk_wait_prefill_ns,
        counters.disk_wait_decode_ns,
    )
    assert min(map(sum, layers.disk_wait_ns)) > 0
    assert [sum(layers.compute_ns[phase]) + sum(layers.disk_wait_ns[phase]) for phase in (0, 1)] == [
        counters.prefill_ns,
        counters.decode_ns,
    ]
    assert sum(map(sum, layers.misses)) == counters.expert_misses
    assert sum(layers.misses[0][1:]) == 0  # the other layers' experts are streamed
    assert sum(counters.requests_by_tier.values()) == counters.expert_requests
    # whatever was on disk was read, as a miss or streamed
    assert counters.requests_by_tier["disk"] == counters.expert_misses + counters.expert_streamed
    assert counters.requests_by_tier["host_pool"] > 0


def test_read_fault_comes_once_and_leaves_the_cache_as_it_was() -> None:
    simulation = loaded(FakeScript(failing_decode_token=2))
    simulation.prefill()
    simulation.backend.evaluate([300], 100, is_prefill=False, cancel=simulation.token)
    with pytest.raises(DiskReadError):
        simulation.backend.evaluate([301], 101, is_prefill=False, cancel=simulation.token)
    assert simulation.backend.keep_prefix(1000) == 101
    simulation.backend.evaluate([301], 101, is_prefill=False, cancel=simulation.token)
    assert simulation.backend.counters().read_errors == 1


def test_read_fault_in_the_first_prefill() -> None:
    simulation = loaded(FakeScript(failing_decode_token=0))
    with pytest.raises(DiskReadError):
        simulation.prefill()
    simulation.prefill()


def test_context_is_a_hard_limit() -> None:
    simulation = Simulation()
    simulation.load(LoadSettings(Path("simulated.gguf"), context_tokens=100))
    simulation.prefill(PROMPT)
    with pytest.raises(ContextFullError):
        simulation.backend.evaluate([300], 100, is_prefill=False, cancel=simulation.token)


def cancelled_after(sleeps: int) -> Simulation:
    """A simulation that is cancelled in its n-th slice of waiting."""
    left = iter(range(sleeps - 1, -1, -1))

    def at_sleep() -> None:
        if next(left) == 0:
            simulation.token.cancel()

    simulation = Simulation(FakeScript(load_seconds=1.0, initialise_seconds=1.0), at_sleep)
    return simulation


@pytest.mark.parametrize("sleeps", [1, 50, 150, 199])
def test_cancel_ends_a_load_within_one_slice(sleeps: int) -> None:
    simulation = cancelled_after(sleeps)
    with pytest.raises(Cancelled):
        simulation.load()
    # the iterator is exhausted: a sleep after the cancel would have failed with StopIteration
    with pytest.raises(StateError):
        simulation.prefill()


@pytest.mark.parametrize("is_prefill", [True, False])
def test_cancel_in_a_pass_keeps_what_was_there(is_prefill: bool) -> None:
    simulation = loaded()
    simulation.prefill(PROMPT[:10])
    passes = simulation.backend.counters().prefill_tokens
    original_sleep = simulation.time.sleep

    def cancel_at_first_sleep(seconds: float) -> None:
        original_sleep(seconds)
        simulation.token.cancel()

    simulation.time.sleep = cancel_at_first_sleep  # type: ignore[method-assign] - this test's hook
    start_ns = simulation.time.now_ns
    with pytest.raises(Cancelled):
        simulation.backend.evaluate(PROMPT[:20], 10, is_prefill, simulation.token)
    assert simulation.time.now_ns - start_ns <= 10_000_000
    assert simulation.backend.keep_prefix(1000) == 10
    assert simulation.backend.counters().prefill_tokens == passes
