"""The runs behind `fidelity`: the same text token by token, exact and resident, and long generations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken, InferenceBackend
from engine.config import LoadSettings, Routing, SamplingSettings
from engine.errors import UsageError
from engine.generation.fidelity import FidelityFigures, changed_share, kl_divergence, longest_loop
from engine.model_facts import ModelInfo
from engine.placement.routing_policy import RoutingCost
from engine.placement.routing_trace import RoutingTrace, load_trace

_PROMPT_TOKENS = 32  # of the text, before each generation
_SPARE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class FidelityTask:
    """What to read and to generate; `settings.routing` and the pools are set here."""

    settings: LoadSettings
    text: str
    most_tokens: int
    generated_tokens: int
    seeds: tuple[int, ...]
    temperature: float


def measure_fidelity(
    task: FidelityTask,
    slots: Sequence[int],
    make_backend: Callable[[], InferenceBackend],
    progress: Callable[[str], None],
) -> list[tuple[int, FidelityFigures]]:
    """Figures for each pool size. Logits of the exact run lie on disk meanwhile."""
    context = max(task.most_tokens, task.generated_tokens + _PROMPT_TOKENS) + _SPARE_TOKENS
    with tempfile.TemporaryDirectory(prefix="emberglass-") as folder:
        plain = replace(task.settings, context_tokens=context, trace_path=Path(folder) / "exact.trace")
        runs = _Runs(task, make_backend, Path(folder) / "logits", progress)
        exact = runs.read_exact(plain)
        found = []
        for count in slots:
            settings = replace(
                plain,
                routing=Routing.RESIDENT,
                pool_per_layer=count,
                trace_path=Path(folder) / f"{count}.trace",
            )
            found.append((count, runs.read_resident(settings, exact, count)))
        return found


class _Runs:
    def __init__(
        self,
        task: FidelityTask,
        make_backend: Callable[[], InferenceBackend],
        logits_path: Path,
        progress: Callable[[str], None],
    ) -> None:
        self._task, self._make_backend = task, make_backend
        self._logits_path, self._progress = logits_path, progress
        self._token = CancelToken()

    def read_exact(self, settings: LoadSettings) -> RoutingTrace:
        """Keep the logits after every token in the file; returns the routing."""
        with self._loaded(settings) as (backend, info):
            if not info.moe_layers:
                raise UsageError(
                    f"{info.name} has no experts, so nothing can be replaced.", "Give a MoE model."
                )
            tokens = self._tokens(backend)
            with self._logits_path.open("wb") as file:
                for logits in self._read(backend, tokens, "exact routing"):
                    file.write(logits.tobytes())
        assert settings.trace_path is not None
        return load_trace(settings.trace_path)

    def read_resident(self, settings: LoadSettings, exact: RoutingTrace, count: int) -> FidelityFigures:
        """The same tokens with resident routing, compared, then the generations."""
        name = f"{count} slots per layer"
        with self._loaded(settings) as (backend, _):
            tokens = self._tokens(backend)
            divergences, agreements = [], []
            with self._logits_path.open("rb") as file:
                for logits in self._read(backend, tokens, name):
                    before = np.frombuffer(file.read(logits.nbytes), np.float32)
                    divergences.append(kl_divergence(before, logits))
                    agreements.append(int(before.argmax()) == int(logits.argmax()))
            cost = RoutingCost.of(backend.counters())
            loops = [self._has_loop(backend, tokens, seed, name) for seed in self._seeds]
        assert settings.trace_path is not None
        trace = load_trace(settings.trace_path)
        same_text = replace(trace, steps=trace.steps[: len(exact.steps)])
        return FidelityFigures(
            tokens=len(tokens),
            kl_mean=float(np.mean(divergences)),
            top1_agreement=float(np.mean(agreements)),
            sets_changed_share=changed_share(exact, same_text),
            ranks_replaced_share=cost.replaced_share,
            gate_mass_lost=cost.gate_mass_lost,
            loops=sum(loops),
            generations=len(loops),
        )

    @property
    def _seeds(self) -> tuple[int, ...]:
        return self._task.seeds if self._task.generated_tokens else ()

    @contextmanager
    def _loaded(self, settings: LoadSettings) -> Iterator[tuple[InferenceBackend, ModelInfo]]:
        backend = self._make_backend()
        try:
            yield backend, backend.load(settings, lambda _: None, self._token).info
        finally:
            backend.unload()

    def _tokens(self, backend: InferenceBackend) -> list[int]:
        return backend.tokenize(self._task.text, add_special=True, parse_special=False)[
            : self._task.most_tokens
        ]

    def _read(self, backend: InferenceBackend, tokens: list[int], name: str) -> Iterator[NDArray[np.float32]]:
        """Logits after each token; every token is a pass of its own, as in decoding."""
        backend.keep_prefix(0)
        for position, token in enumerate(tokens):
            self._progress(f"{name}: token {position + 1} of {len(tokens)}")
            backend.evaluate([token], position, False, self._token)
            yield backend.logits()

    def _has_loop(self, backend: InferenceBackend, tokens: list[int], seed: int, name: str) -> bool:
        """Generate past every end token, as long as asked, and look for a loop."""
        sampling = SamplingSettings(temperature=self._task.temperature, seed=seed)
        prompt = tokens[:_PROMPT_TOKENS]
        backend.keep_prefix(0)
        backend.evaluate(prompt, 0, True, self._token)
        said: list[int] = []
        with closing(backend.open_sampler(sampling, prompt)) as sampler:
            while len(said) < self._task.generated_tokens:
                self._progress(f"{name}: seed {seed}, token {len(said) + 1}")
                said.append(sampler.sample())
                backend.evaluate(said[-1:], len(prompt) + len(said) - 1, False, self._token)
        return longest_loop(said) > 0
