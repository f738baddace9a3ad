"""Settings that change between passes: exact answers stay stock's, and what is in slots stays there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.config import ChatMessage, LoadSettings, Routing, SamplingSettings
from engine.errors import UsageError
from engine.events import GenerationFinished, GenerationStarted, ModelAdjusted, ModelLoaded
from engine.gguf.fingerprint import model_fingerprint
from engine.gguf.reader import read_model
from engine.model_facts import ModelInfo
from engine.native.context import ContextSettings
from engine.placement.heat_profile import HeatProfile, ProfileFile
from engine.placement.tier import Tier
from tests.native.conftest import TinyModels
from tests.support.device_runs import run_stock_on_device
from tests.support.device_server import serving_device
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.exact_runs import (
    CONTEXT_TOKENS,
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)
from tests.support.resident_reference import run_resident_stock

_SAMPLING = SamplingSettings(temperature=0, max_tokens=4)


def adjusted(backend: LlamaCppBackend, wanted: LoadSettings) -> ModelInfo:
    return backend.adjust(wanted, CancelToken())


def few_slots(path: Path, unit: int | None = 16) -> LoadSettings:
    """Slots for about half of the experts, small pools."""
    return settings_for(path, 35, unit, threads=1)


def resident(settings: LoadSettings, pool: int = 6, is_fixed: bool = True) -> LoadSettings:
    return replace(settings, routing=Routing.RESIDENT, pool_per_layer=pool, is_pool_fixed=is_fixed)


def locked_now_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmLck"))


@pytest.mark.parametrize("slots", [35, None])
@pytest.mark.parametrize("variant", ["qwen3moe", "gpt-oss", "mixed"])
def test_exact_answers_are_stock_s_after_every_switch(
    tiny_models: TinyModels, variant: str, slots: int | None
) -> None:
    path = tiny_models(variant)
    exact = replace(few_slots(path), slots_per_class=slots)
    other = resident(exact)
    with loaded(exact) as (backend, info):
        adjusted(backend, other)
        through_pools = run_ours(backend, prompt_tokens(40), 6)
        now = adjusted(backend, exact)
        ours = run_ours(backend, prompt_tokens(40), 6)
        adjusted(backend, other)
        run_ours(backend, prompt_tokens(40), 6)
        adjusted(backend, exact)
        again = run_ours(backend, prompt_tokens(40), 6)
        counters = backend.counters()
    assert now == info
    exact_stock = run_stock(path, info.unit_tokens, 1, 40, 6, 1).steps
    assert_identical(ours, exact_stock)
    assert_identical(again, exact_stock)
    assert_identical(
        through_pools, run_resident_stock(path, info.unit_tokens, info.top_k, set(range(6)), 40, 6)
    )
    assert counters.ranks_replaced > 0


@pytest.mark.parametrize("variant", ["qwen3moe", "gpt-oss"])
def test_a_unit_gives_what_a_load_with_it_gives(tiny_models: TinyModels, variant: str) -> None:
    path = tiny_models(variant)
    with loaded(few_slots(path)) as (backend, info):
        assert info.largest_unit_tokens == 16
        for unit in (3, 16, 1):
            assert adjusted(backend, few_slots(path, unit)).unit_tokens == unit
            ours = run_ours(backend, prompt_tokens(40), 4)
            assert_identical(ours, run_stock(path, unit, 1, 40, 4, 1).steps)


def test_what_is_in_slots_stays_there(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    exact = replace(settings_for(path, None, 16, threads=1), hot_per_layer=2)
    with loaded(exact) as (backend, _):
        run_ours(backend, prompt_tokens(40), 20)
        before = backend.counters()
        for wanted in (resident(exact), replace(exact, hot_per_layer=0, unit_tokens=3), exact):
            adjusted(backend, wanted)
        run_ours(backend, prompt_tokens(40), 20)
        after = backend.counters()
    assert before.expert_misses > 0
    assert after.expert_misses == before.expert_misses
    assert after.bytes_read == before.bytes_read


@pytest.mark.parametrize("slots", [44, None])
def test_the_hot_zone_is_resized_and_locked(tiny_models: TinyModels, slots: int | None) -> None:
    path = tiny_models("qwen3moe")
    before_bytes = locked_now_bytes()

    def hot(count: int) -> LoadSettings:
        return replace(settings_for(path, slots, 4, threads=1), hot_per_layer=count)

    with loaded(hot(3)) as (backend, info):
        for count in (1, 4, 0, 2):
            now = adjusted(backend, hot(count))
            assert [each.hot_per_layer for each in now.slot_classes] == [count]
            assert locked_now_bytes() - before_bytes == now.locked_bytes
            runs = [run_ours(backend, prompt_tokens(40), 24) for _ in range(3)]
            experts = backend.experts()
            assert experts is not None
            assert (experts.tiers == Tier.HOT).sum(axis=1).tolist() == [count] * len(info.moe_layers)
            for steps in runs:
                assert_identical(steps, run_stock(path, info.unit_tokens, 1, 40, 24, 1).steps)
    assert locked_now_bytes() == before_bytes


def test_pools_of_another_size_are_elected_and_filled_at_once(tiny_models: TinyModels) -> None:
    settings = resident(few_slots(tiny_models("qwen3moe")))
    with loaded(settings) as (backend, info):
        now = adjusted(backend, resident(settings, pool=4))
        experts = backend.experts()
        reads = backend.counters().expert_misses
        assert [(c.pool_per_layer, c.window_slots) for c in info.slot_classes] == [(6, 11)]
        assert [(c.pool_per_layer, c.window_slots) for c in now.slot_classes] == [(4, 19)]
        assert experts is not None
        assert np.isin(experts.tiers, (Tier.HOST_POOL, Tier.HOT)).sum(axis=1).tolist() == [4] * 4
        ours = run_ours(backend, prompt_tokens(40), 6)
    assert reads == 0  # members are promoted, not missed
    stock = run_resident_stock(settings.path, now.unit_tokens, info.top_k, set(range(4)), 40, 6)
    assert_identical(ours, stock)


def test_fixed_pools_keep_their_members(tiny_models: TinyModels) -> None:
    learning = resident(few_slots(tiny_models("qwen3moe")), is_fixed=False)
    with loaded(learning) as (backend, _):
        for seed in range(1, 4):
            run_ours(backend, prompt_tokens(40, seed), 12)
        assert adjusted(backend, resident(learning)).is_pool_fixed
        first = run_ours(backend, prompt_tokens(40, 9), 12)
        run_ours(backend, prompt_tokens(40, 7), 20)
        assert_identical(run_ours(backend, prompt_tokens(40, 9), 12), first)


def test_what_needs_a_load_changes_nothing(tiny_models: TinyModels) -> None:
    settings = few_slots(tiny_models("qwen3moe"))
    with loaded(settings) as (backend, info):
        with pytest.raises(UsageError, match="context_tokens, unit_tokens"):
            adjusted(backend, replace(settings, unit_tokens=64, context_tokens=512, hot_per_layer=0))
        assert adjusted(backend, settings) == info


# --- what is learned ------------------------------------------------------------------------


def kept(settings: LoadSettings) -> HeatProfile:
    assert settings.profile_dir is not None
    profile = ProfileFile(settings.profile_dir, model_fingerprint(read_model(settings.path))).load()
    assert profile is not None
    return profile


@pytest.mark.parametrize("slots", [35, None])
def test_what_is_learned_is_kept_as_with_loads(
    tiny_models: TinyModels, tmp_path: Path, slots: int | None
) -> None:
    path = tiny_models("qwen3moe")
    exact = replace(few_slots(path), slots_per_class=slots, profile_dir=tmp_path / "live")
    stages = (exact, resident(exact, is_fixed=False), exact, resident(exact))
    with loaded(exact) as (backend, _):
        for seed, stage in enumerate(stages):
            adjusted(backend, stage)
            run_ours(backend, prompt_tokens(40, seed), 12)
    for seed, stage in enumerate(stages):
        with loaded(replace(stage, profile_dir=tmp_path / "loads")) as (backend, _):
            run_ours(backend, prompt_tokens(40, seed), 12)
    live, reloaded = kept(exact), kept(replace(exact, profile_dir=tmp_path / "loads"))
    assert live.use is not None
    assert reloaded.use is not None
    assert np.array_equal(live.use.tokens, reloaded.use.tokens)
    assert live.use.chance == pytest.approx(reloaded.use.chance, abs=1e-12)
    assert live.heat == pytest.approx(reloaded.heat, abs=1e-12)


# --- in mid-conversation --------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    tokens: tuple[int, ...]
    position: int
    is_exact: bool
    logits: np.ndarray


class WatchedBackend(LlamaCppBackend):
    """Keeps what was evaluated and the logits that came."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Evaluation] = []

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        super().evaluate(tokens, position, is_prefill, cancel)
        is_exact = self._model.info.routing is Routing.EXACT
        self.seen.append(Evaluation(tuple(tokens), position, is_exact, self.logits()))


class Talk:
    """A conversation that grows, over one engine."""

    def __init__(self, driver: EngineDriver) -> None:
        self._driver, self._messages = driver, list[ChatMessage]()

    def say(self, text: str) -> tuple[int, int]:
        """Say something; prompt tokens that were re-used, and tokens of prompt and answer in all."""
        self._messages.append(ChatMessage("user", text))
        request = self._driver.engine.generate(self._messages, _SAMPLING)
        started, outcome = self._driver.first(GenerationStarted, request), self._driver.outcome(request)
        assert isinstance(started, GenerationStarted)
        assert isinstance(outcome, GenerationFinished)
        self._messages.append(ChatMessage("assistant", outcome.text))
        return started.cached_tokens, outcome.usage.prompt_tokens + outcome.usage.completion_tokens

    def adjust(self, wanted: LoadSettings) -> ModelInfo:
        event = self._driver.outcome(self._driver.engine.adjust(wanted))
        assert isinstance(event, ModelAdjusted)
        assert self._driver.engine.model == event.info
        return event.info


def test_in_mid_conversation_exact_answers_are_stock_s(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    exact = replace(settings_for(path, 64, 16, threads=1), context_tokens=1024)
    backend = WatchedBackend()
    with running_engine(lambda: backend) as driver:
        assert isinstance(driver.outcome(driver.engine.load(exact)), ModelLoaded)
        talk = Talk(driver)
        _, exact_tokens = talk.say("What is a slot, and who may use it?")
        talk.adjust(replace(exact, unit_tokens=3))
        cached, all_tokens = talk.say("And a unit?")
        assert exact_tokens - 8 < cached < exact_tokens
        assert max(len(e.tokens) for e in backend.seen if e.position >= cached) == 3
        talk.adjust(resident(replace(exact, unit_tokens=3)))
        cached, _ = talk.say("Which experts are in the pool?")
        assert all_tokens - 8 < cached  # exact keys and values are good enough for resident routing
        exact_until = cached
        talk.adjust(exact)
        cached, _ = talk.say("And now?")
        assert cached == exact_until  # what resident routing computed is computed again
        talk.adjust(replace(exact, hot_per_layer=1))
        assert talk.say("Thank you.")[0] > exact_until
    _assert_stock(backend.seen, exact)


def _assert_stock(seen: list[Evaluation], settings: LoadSettings) -> None:
    """Stock llama.cpp, given the same pieces at the same places, has the same logits."""
    stock = StockModel(settings.path, ContextSettings(settings.context_tokens or CONTEXT_TOKENS, 16, 1))
    held = 0
    try:
        for each in seen:
            if not each.is_exact:
                continue
            assert each.position <= held  # nothing that resident routing has left is used
            stock.cut(each.position)
            logits = stock.evaluate(each.tokens, each.position)
            held = each.position + len(each.tokens)
            assert np.array_equal(each.logits.view(np.uint32), logits.view(np.uint32))
    finally:
        stock.close()
    assert any(not each.is_exact for each in seen)


# --- with experts on a device ---------------------------------------------------------------


def test_on_a_device_roles_in_ram_and_units_change_too(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with serving_device() as server:
        plain = settings_for(path, 40, 16, threads=1)
        exact = replace(plain, devices=(server.name,), hot_per_layer=2, staging_slots=10)
        with loaded(exact) as (backend, info):
            assert info.devices[0].layers
            with pytest.raises(UsageError, match="hot_per_layer"):
                adjusted(backend, replace(exact, hot_per_layer=1))
            adjusted(backend, resident(exact))
            through_pools = run_ours(backend, prompt_tokens(40), 6)
            now = adjusted(backend, replace(exact, unit_tokens=2))
            ours = run_ours(backend, prompt_tokens(40), 6)
        stock = run_stock_on_device(path, server.name, now.unit_tokens, 40, 6)
    assert now.unit_tokens == 2
    assert [each.hot_per_layer for each in now.slot_classes] == [
        each.hot_per_layer for each in info.slot_classes
    ]
    assert_identical(ours, stock)
    assert not np.array_equal(through_pools[0], ours[0])
