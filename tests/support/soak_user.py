"""A user who does everything at random: chats, stops, warms up, counts, reloads with other settings."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from engine.config import MIB, ChatMessage, LoadSettings, Repack, Routing, SamplingSettings
from engine.events import GenerationFinished, ModelLoaded
from engine.hardware.memory import resident_bytes
from engine.service import Engine
from tests.support.soak_models import (
    SPOT_CONTEXT_TOKENS,
    SPOT_TOKENS,
    UNITS,
    RecordingBackend,
    SoakModel,
    Step,
    difference,
    prompt_of,
)
from tests.support.soak_requests import CancelPlan, Requests

_SPOT_QUESTION = (ChatMessage("user", "How many experts does a token use; where are the others? " * 2),)
_SPOT_SAMPLING = SamplingSettings(temperature=0, max_tokens=SPOT_TOKENS)
_WORDS = ("expert", "slot", "何", "drive", "token", "why", "pool", "layer", "🙂", "memory", "half", "then")
_MOST_ACTS_PER_LOAD = 7
_MOST_TURNS = 8


class SoakUser:
    """Everything is drawn from `chance`; `acts` count what was done."""

    def __init__(
        self, engine: Engine, backend: RecordingBackend, folder: Path, chance: random.Random
    ) -> None:
        self._engine, self._backend, self._folder, self._chance = engine, backend, folder, chance
        self.requests = Requests(engine)
        self.acts: Counter[str] = Counter()
        self._messages: list[ChatMessage] = []

    # --- once, before the soak ------------------------------------------------------------------

    def learn_reference(self, model: SoakModel) -> None:
        """Let stock answer what a spot check of this model will ask."""
        self._load(self._spot_settings(model))
        prompt = prompt_of(self._recorded_answer())
        self.unload()
        model.refer(prompt)

    # --- one session after the other ------------------------------------------------------------

    def session(self, model: SoakModel, is_spot_due: bool) -> bool:
        """Load, a few acts, unload; ends with a spot check if one is due. Whether there was one."""
        settings = self._spot_settings(model) if is_spot_due else self._any_settings(model)
        is_loaded = self._load(settings, None if is_spot_due else self._maybe_cancel())
        self._messages = []
        acts = (self._chat, self._chat, self._chat, self._warm_up, self._count, self._flood)
        n_acts = self._chance.randint(1, _MOST_ACTS_PER_LOAD)
        for _ in range(n_acts if is_loaded else 0):
            self._chance.choice(acts)()
        is_checked = is_spot_due and is_loaded and self._check_spot(model)
        self.unload()
        return is_checked

    def open_bad_file(self, path: Path) -> None:
        """It must be refused by name."""
        self.acts["bad file"] += 1
        request = self._engine.load(LoadSettings(path, threads=1))
        event = self.requests.outcome(request)
        if isinstance(event, ModelLoaded):
            self.requests.faults.append(f"{path.name} was loaded")
        self.requests.expect(event, "ModelFileError", "UnsupportedModelError", "NativeError")

    def unload(self) -> None:
        """Free what is loaded."""
        self.requests.expect(self.requests.outcome(self._engine.unload()))

    def _load(self, settings: LoadSettings, plan: CancelPlan | None = None) -> bool:
        self.acts[f"load {settings.routing.value}"] += 1
        return self.requests.expect(self.requests.outcome(self._engine.load(settings), plan), "BudgetError")

    def _chat(self) -> None:
        self.acts["chat"] += 1
        if len(self._messages) >= _MOST_TURNS:
            self._messages = []
        question = " ".join(self._chance.choices(_WORDS, k=int(2 ** self._chance.uniform(0, 6))))
        messages = (*self._messages, ChatMessage("user", question))
        event = self.requests.outcome(
            self._engine.generate(messages, self._any_sampling()), self._maybe_cancel()
        )
        if self.requests.expect(event, "ContextFullError") and isinstance(event, GenerationFinished):
            self._messages = [*messages, ChatMessage("assistant", event.text or "…")]
        else:
            self._messages = []

    def _warm_up(self) -> None:
        self.acts["warm-up"] += 1
        self.requests.expect(self.requests.outcome(self._engine.warm_up(), self._maybe_cancel()))

    def _count(self) -> None:
        self.acts["count"] += 1
        messages = [*self._messages, ChatMessage("user", " ".join(_WORDS))]
        self.requests.expect(self.requests.outcome(self._engine.count_tokens(messages)))

    def _flood(self) -> None:
        """Several requests at once, all stopped."""
        self.acts["flood"] += 1
        message = [ChatMessage("user", "and?")]
        waiting = [self._engine.generate(message, self._any_sampling()) for _ in range(4)]
        waiting += [self._engine.warm_up(), self._engine.count_tokens(message)]
        self._engine.cancel()
        for request in waiting:
            self.requests.expect(self.requests.outcome(request))

    # --- spot checks ----------------------------------------------------------------------------

    def _check_spot(self, model: SoakModel) -> bool:
        """Compare with stock; False where few slots made the unit one that stock was not asked for."""
        loaded = self._engine.model
        if loaded is None or loaded.unit_tokens not in UNITS:
            return False
        self.acts["spot check"] += 1
        fault = difference(self._recorded_answer(), model.references[loaded.unit_tokens, loaded.is_repacked])
        if fault:
            self.requests.faults.append(
                f"{model.name}, unit {loaded.unit_tokens}, repacked {loaded.is_repacked}: {fault}"
            )
        return True

    def _recorded_answer(self) -> list[Step]:
        self._backend.steps = []
        self.requests.expect(self.requests.outcome(self._engine.generate(_SPOT_QUESTION, _SPOT_SAMPLING)))
        steps, self._backend.steps = self._backend.steps, None
        return steps or []

    def _spot_settings(self, model: SoakModel) -> LoadSettings:
        return LoadSettings(
            model.path,
            context_tokens=SPOT_CONTEXT_TOKENS,
            unit_tokens=self._chance.choice(UNITS),
            threads=1,
            is_prefetch_on=self._chance.random() < 0.7,
            slots_per_class=self._any_slots(),
            profile_dir=self._any_profile(),
            repack=self._chance.choice(tuple(Repack)),
        )

    # --- chance ---------------------------------------------------------------------------------

    def _any_settings(self, model: SoakModel) -> LoadSettings:
        chance = self._chance
        budget = resident_bytes() + int(chance.uniform(30, 500)) * MIB
        is_resident = chance.random() < 0.4
        return LoadSettings(
            model.path,
            ram_budget_bytes=budget if chance.random() < 0.5 else None,
            context_tokens=chance.choice((256, 512, 1024)),
            unit_tokens=chance.choice((None, 1, 3, 16, 64, 200)),
            threads=1,
            is_prefetch_on=chance.random() < 0.7,
            slots_per_class=self._any_slots(),
            reader_threads=chance.randint(1, 4),
            trace_path=self._folder / "soak.trace" if model.has_experts and chance.random() < 0.2 else None,
            routing=Routing.RESIDENT if is_resident else Routing.EXACT,
            pool_per_layer=chance.randint(4, 16) if is_resident else None,
            is_pool_fixed=is_resident and chance.random() < 0.5,
            profile_dir=self._any_profile(),
            hot_per_layer=chance.choice((None, 0, 2)),
            repack=self._chance.choice(tuple(Repack)),
        )

    def _any_slots(self) -> int | None:
        return self._chance.choice((None, 1, self._chance.randint(8, 120)))

    def _any_profile(self) -> Path | None:
        return self._folder / "profiles" if self._chance.random() < 0.5 else None

    def _any_sampling(self) -> SamplingSettings:
        chance = self._chance
        return SamplingSettings(
            temperature=chance.choice((0, 0.7, 1.3)),
            repeat_penalty=chance.choice((1.0, 1.1)),
            seed=chance.randint(0, 1 << 30),
            max_tokens=chance.choice((1, 8, 40, 120)),
        )

    def _maybe_cancel(self) -> CancelPlan | None:
        chance = self._chance
        if chance.random() < 0.55:
            return None
        return CancelPlan(10 ** chance.uniform(-3.5, 0.3), chance.randint(1, 60))
