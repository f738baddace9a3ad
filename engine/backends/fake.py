"""A simulated model: drives the whole program without a file, a disk or llama.cpp.

It is a product, not a mock: the window's tour and the tests use it, and it says everywhere that it is
simulated. Words come from a script, figures from a small arithmetic model of experts and a disk.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken, LoadReport, LoadResult, WarmUpReport, WarmUpResult
from engine.backends.fake_layers import FakeLayers
from engine.backends.fake_model import adjusted_info, fake_model_info
from engine.backends.fake_residency import FakeResidency, UnitOutcome
from engine.backends.fake_script import FakeScript
from engine.backends.fake_vocabulary import BEGIN_TOKEN, END_TOKEN, N_VOCAB, FakeVocabulary
from engine.config import LoadSettings, SamplingSettings
from engine.errors import ContextFullError, DeviceLostError, DiskReadError, StateError, UsageError
from engine.events import Counters, ExpertsSampled, LayersSampled, LoadPhase
from engine.model_facts import ModelInfo
from engine.placement.live_settings import needing_reload
from engine.placement.tier import Tier

# Waiting in slices keeps every wait cancellable.
_SLICE_SECONDS = 0.01
_LOAD_REPORTS_PER_SECOND = 20
_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>\n{% endif %}"
)
_USER_MARK = "<user>\n"
_ANSWER_MARK = "<|end|>\n<assistant>\n"


class FakeSampler:
    """Always picks the token that the script says next."""

    def __init__(self, next_token: Callable[[], int]) -> None:
        self._next_token = next_token

    def sample(self) -> int:
        return self._next_token()

    def close(self) -> None:
        """Nothing to free."""


class FakeBackend:
    """An InferenceBackend that follows a FakeScript; honours a cancel within 50 ms everywhere.

    `clock` (nanoseconds) and `sleep` (seconds) can be replaced together, so that tests take no time.
    """

    def __init__(
        self,
        script: FakeScript | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._script = script or FakeScript()
        self._clock = clock
        self._sleep = sleep
        self._settings = LoadSettings(Path())
        self._info: ModelInfo | None = None
        self._residency: FakeResidency | None = None
        self._layers = FakeLayers(0)
        self._vocabulary = FakeVocabulary()
        self._counters = Counters()
        self._kv: list[int] = []
        self._answer: list[int] | None = None
        self._prompt_tokens = 0
        self._has_failed = False

    # --- loading ------------------------------------------------------------------------------

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        """Take as long as the script says; any file name will do, since nothing is read."""
        self.unload()
        info = fake_model_info(self._script, settings)
        start_ns = self._clock()
        report(LoadReport(LoadPhase.INSPECT))
        report(LoadReport(LoadPhase.MAP))
        self._read_dense(report, cancel)
        loaded_ns = self._clock()
        self._initialise(report, cancel)
        self._open(info)
        self._settings = settings
        return LoadResult(info, loaded_ns - start_ns, self._clock() - loaded_ns)

    def adjust(self, wanted: LoadSettings, cancel: CancelToken) -> ModelInfo:
        """Other roles for the slots that there are; takes no time, since nothing is read."""
        info = self._loaded()
        names = needing_reload(self._settings, wanted, info)
        if names:
            raise UsageError(f"Only a reload can change {', '.join(names)}.", "Load the model again.")
        self._settings, self._info = wanted, adjusted_info(self._script, wanted, info)
        if self._residency is not None:
            slots = self._info.slot_classes[0]
            self._residency.adjust(slots.pool_per_layer, slots.window_slots, slots.hot_per_layer)
        return self._info

    def unload(self) -> None:
        """Forget everything; idempotent."""
        self._info = self._residency = self._answer = None
        self._kv = []
        self._prompt_tokens = 0

    def _read_dense(self, report: Callable[[LoadReport], None], cancel: CancelToken) -> None:
        script = self._script
        steps = 2 + int(script.load_seconds * _LOAD_REPORTS_PER_SECOND)
        for step in range(steps + 1):
            done = script.dense_bytes * step // steps
            report(LoadReport(LoadPhase.DENSE_READ, done, script.dense_bytes))
            if script.load_failure is not None and step == steps // 2:
                raise script.load_failure
            if step < steps:
                self._wait(script.load_seconds / steps, cancel)

    def _initialise(self, report: Callable[[LoadReport], None], cancel: CancelToken) -> None:
        phases = (LoadPhase.CONTEXT, LoadPhase.SLOTS, LoadPhase.FIRST_GRAPH)
        for phase in phases:
            report(LoadReport(phase, 0, 1))
            self._wait(self._script.initialise_seconds / len(phases), cancel)
            report(LoadReport(phase, 1, 1))

    def _open(self, info: ModelInfo) -> None:
        script = self._script
        self._info = info
        self._has_failed = False
        self._counters = Counters(
            bytes_read=script.dense_bytes,
            bytes_by_reason={"dense": script.dense_bytes, "miss": 0, "stream": 0, "warm_up": 0},
            requests_by_tier={tier.name.lower(): 0 for tier in Tier},
        )
        if info.slot_classes:
            slots = info.slot_classes[0]
            self._layers = FakeLayers(script.n_layer)
            self._residency = FakeResidency(
                (script.n_layer, script.n_expert),
                script.top_k,
                slots.pool_per_layer,
                slots.window_slots,
                (script.zipf_exponent, script.seed),
                slots.hot_per_layer,
            )

    # --- text ---------------------------------------------------------------------------------

    def chat_template(self) -> str | None:
        """A template of plain marks, which this backend reads back to find the last message."""
        return _TEMPLATE

    def special_text(self, name: str) -> str:
        """Text of the "bos" or "eos" token."""
        return {"bos": "<|begin|>", "eos": "<|end|>"}.get(name, "")

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        """Words as tokens; see FakeVocabulary."""
        return [BEGIN_TOKEN] * add_special + self._vocabulary.tokenize(text, parse_special)

    def token_bytes(self, token: int) -> bytes:
        """UTF-8 bytes of one token; empty for control tokens."""
        return self._vocabulary.token_bytes(token)

    def is_end_token(self, token: int) -> bool:
        """Whether the token ends the answer."""
        return token == END_TOKEN

    # --- computing ----------------------------------------------------------------------------

    def keep_prefix(self, n_tokens: int) -> int:
        """Keep the first `n_tokens` of the pretended KV cache."""
        del self._kv[n_tokens:]
        return len(self._kv)

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        """Wait as long as the script says, unit by unit; on cancel or fault the KV cache is as before."""
        info = self._loaded()
        if position + len(tokens) > info.context_tokens:
            raise ContextFullError("The context window is full.", "Start a new conversation.")
        del self._kv[position:]
        for start in range(0, len(tokens), info.unit_tokens):
            self._run_unit(len(tokens[start : start + info.unit_tokens]), is_prefill, cancel)
        self._kv.extend(tokens)
        if is_prefill:
            self._prompt_tokens, self._answer = len(self._kv), None

    def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
        """Fill the pools with each layer's favourites, as fast as the script's disk."""
        self._loaded()
        residency, start_ns = self._residency, self._clock()
        before, done = 1.0 if residency is None else residency.expected_hit_rate(), 0
        plan = [] if residency is None else residency.favourites_missing()
        total = sum(map(len, plan))
        report(WarmUpReport(0, total, 0))
        for layer, experts in enumerate(plan):
            read_bytes = len(experts) * self._script.expert_bytes
            self._wait(read_bytes / self._script.disk_bytes_per_second, cancel)
            assert residency is not None, "a dense model has no plan"
            residency.bring_favourites(layer)
            self._count_warm_up(read_bytes)
            done += len(experts)
            report(WarmUpReport(done, total, done * self._script.expert_bytes))
        return WarmUpResult(
            experts_loaded=done,
            bytes_read=done * self._script.expert_bytes,
            elapsed_ns=self._clock() - start_ns,
            expected_hit_rate_before=before,
            expected_hit_rate_after=1.0 if residency is None else residency.expected_hit_rate(),
            is_profile_saved=False,
        )

    def _count_warm_up(self, read_bytes: int) -> None:
        by_reason = self._counters.bytes_by_reason
        by_reason = {**by_reason, "warm_up": by_reason["warm_up"] + read_bytes}
        self._counters = dataclasses.replace(
            self._counters, bytes_read=sum(by_reason.values()), bytes_by_reason=by_reason
        )

    def set_layer_listener(self, listener: Callable[[int, int], None] | None) -> None:
        """Never calls it: a simulated unit is short."""

    def logits(self) -> NDArray[np.float32]:
        """One clear winner: the token that the script says next."""
        logits = np.zeros(N_VOCAB, np.float32)
        logits[self._next_token()] = 20.0
        return logits

    def open_sampler(self, settings: SamplingSettings, prompt: Sequence[int]) -> FakeSampler:
        """A sampler that ignores its settings: the words are fixed."""
        return FakeSampler(self._next_token)

    def device_fault(self) -> DeviceLostError | None:
        """Simulated devices stay."""
        return None

    def counters(self) -> Counters:
        """Cumulative counters since load."""
        return self._counters

    def experts(self) -> ExpertsSampled | None:
        """Copies of the simulated residency, or None for a dense model."""
        return None if self._residency is None else self._residency.sample()

    def layers(self) -> LayersSampled | None:
        """What the simulated layers cost, or None for a dense model."""
        return None if self._residency is None else self._layers.sample()

    def _loaded(self) -> ModelInfo:
        if self._info is None:
            raise StateError("No model is loaded.", "Load a model first.")
        return self._info

    def _next_token(self) -> int:
        """The script's token after what the KV cache holds; the end token when it has no more."""
        if self._answer is None:
            prompt = self._vocabulary.text(self._kv[: self._prompt_tokens])
            message, _, said = prompt.rpartition(_USER_MARK)[2].partition(_ANSWER_MARK)
            answer = self._script.answer_to(message)
            # a continued answer goes on where it stopped
            answer = answer[len(said) :] if answer.startswith(said) else answer
            self._answer = self._vocabulary.tokenize(answer, parse_special=False)
        n_said = len(self._kv) - self._prompt_tokens
        return self._answer[n_said] if n_said < len(self._answer) else END_TOKEN

    def _run_unit(self, n_tokens: int, is_prefill: bool, cancel: CancelToken) -> None:
        cancel.check()
        self._fail_if_due(is_prefill)
        start_ns = self._clock()
        outcome = UnitOutcome()
        if self._residency is not None:
            outcome = self._residency.run_unit(n_tokens, is_prefill)
        read_bytes = (outcome.misses + outcome.streamed) * self._script.expert_bytes
        read_seconds = read_bytes / self._script.disk_bytes_per_second
        if is_prefill:
            compute_seconds = n_tokens * self._script.prefill_token_seconds
            # reads for the next layer run beside the computation: only what outlasts it is waited for
            wait_seconds = max(0.0, read_seconds - compute_seconds)
        else:
            compute_seconds, wait_seconds = self._script.decode_token_seconds, read_seconds
        done_tokens = 0
        try:
            self._wait(compute_seconds + wait_seconds, cancel)
            done_tokens = n_tokens
        finally:
            elapsed_ns = self._clock() - start_ns
            self._count(done_tokens, is_prefill, outcome, elapsed_ns, (read_seconds, wait_seconds))

    def _fail_if_due(self, is_prefill: bool) -> None:
        due = self._script.failing_decode_token
        at = 0 if is_prefill else self._counters.decode_tokens + 1
        if due is None or self._has_failed or at != due:
            return
        self._has_failed = True
        self._counters = dataclasses.replace(self._counters, read_errors=self._counters.read_errors + 1)
        raise DiskReadError(
            "A simulated read of expert weights failed.", "Send the message again: it fails only once."
        )

    def _count(
        self,
        n_tokens: int,
        is_prefill: bool,
        outcome: UnitOutcome,
        elapsed_ns: int,
        disk_seconds: tuple[float, float],
    ) -> None:
        busy_ns, wait_ns = (min(elapsed_ns, int(seconds * 1e9)) for seconds in disk_seconds)
        if self._residency is not None:
            self._layers.add(is_prefill, outcome.missed, outcome.read, wait_ns, elapsed_ns - wait_ns)
        old = self._counters
        by_reason = {
            **old.bytes_by_reason,
            "miss": old.bytes_by_reason["miss"] + outcome.misses * self._script.expert_bytes,
            "stream": old.bytes_by_reason["stream"] + outcome.streamed * self._script.expert_bytes,
        }
        self._counters = dataclasses.replace(
            old,
            prefill_tokens=old.prefill_tokens + n_tokens * is_prefill,
            decode_tokens=old.decode_tokens + n_tokens * (not is_prefill),
            prefill_ns=old.prefill_ns + elapsed_ns * is_prefill,
            decode_ns=old.decode_ns + elapsed_ns * (not is_prefill),
            disk_wait_prefill_ns=old.disk_wait_prefill_ns + wait_ns * is_prefill,
            disk_wait_decode_ns=old.disk_wait_decode_ns + wait_ns * (not is_prefill),
            disk_busy_ns=old.disk_busy_ns + busy_ns,
            bytes_read=sum(by_reason.values()),
            bytes_by_reason=by_reason,
            expert_requests=old.expert_requests + outcome.requests,
            expert_misses=old.expert_misses + outcome.misses,
            expert_streamed=old.expert_streamed + outcome.streamed,
            expert_streamed_used=old.expert_streamed_used + outcome.streamed,
            evictions=old.evictions + outcome.evictions,
            passes=old.passes + 1,
            requests_by_tier={
                tier.name.lower(): old.requests_by_tier[tier.name.lower()] + outcome.requests_by_tier[tier]
                for tier in Tier
            },
        )

    def _wait(self, seconds: float, cancel: CancelToken) -> None:
        """Let `seconds` pass on the clock, checking for a cancel at least every 10 ms."""
        end_ns = self._clock() + int(seconds * 1e9)
        cancel.check()
        while (left_seconds := (end_ns - self._clock()) / 1e9) > 0:
            self._sleep(min(_SLICE_SECONDS, left_seconds))
            cancel.check()
