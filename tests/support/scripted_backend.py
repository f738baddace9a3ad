"""A backend that answers by script and keeps a model of the KV cache to compare with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken, LoadReport, LoadResult, WarmUpReport, WarmUpResult
from engine.config import LoadSettings, SamplingSettings
from engine.errors import DeviceLostError
from engine.events import Counters, ExpertsSampled, LayersSampled
from engine.model_facts import ModelInfo

SPECIALS = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")
BOS, END = 256, 257


def model_info(context_tokens: int = 4096, unit_tokens: int = 16) -> ModelInfo:
    """Facts of a model; only the two arguments matter to a session."""
    return ModelInfo(
        path="model.gguf", name="model", architecture="test", file_bytes=0, n_layer=1, moe_layers=(),
        n_expert=0, top_k=0, expert_bytes=0, dense_bytes=0, context_tokens=context_tokens, kv_bytes=0,
        compute_bytes=0, slots_bytes=0, ram_budget_bytes=0, unit_tokens=unit_tokens, threads=1,
        slot_classes=(), is_direct_io=False, has_chat_template=True,
    )  # fmt: skip


class ScriptedSampler:
    """Gives the tokens of a script; fails the test if the KV cache isn't prompt plus answer so far."""

    def __init__(self, backend: ScriptedBackend, prompt: Sequence[int]) -> None:
        self._backend = backend
        self._expected_kv = list(prompt)

    def sample(self) -> int:
        assert self._backend.kv == self._expected_kv
        token = next(self._backend.script, END)
        self._expected_kv.append(token)
        return token

    def close(self) -> None:
        self._backend.open_samplers -= 1


class ScriptedBackend:
    """Tokens are bytes (0-255) and SPECIALS (256 on). Time passes by `now_ns`, 1 ms per evaluated token.

    `on_evaluate` is called before each evaluation with its running number and may raise. A backend with
    `can_cut` False gives up the whole cache when part of it should go.
    """

    def __init__(self, answer: bytes | Sequence[int] = b"", can_cut: bool = True) -> None:
        self.script: Iterator[int] = iter(answer)
        self.can_cut = can_cut
        self.kv: list[int] = []
        self.evaluations: list[tuple[int, int, bool]] = []  # tokens, position, is_prefill
        self.tokenized: list[tuple[str, bool, bool]] = []
        self.on_evaluate: Callable[[int], None] = lambda number: None
        self.open_samplers = 0
        self.sampler_prompts: list[tuple[int, ...]] = []
        self.lost: DeviceLostError | None = None
        self.now_ns = 1_000
        self._counters = Counters()

    def clock(self) -> int:
        self.now_ns += 7
        return self.now_ns

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        return LoadResult(model_info(), 0, 0)

    def adjust(self, wanted: LoadSettings, cancel: CancelToken) -> ModelInfo:
        return replace(model_info(), routing=wanted.routing)

    def unload(self) -> None:
        self.kv.clear()

    def chat_template(self) -> str | None:
        return None

    def special_text(self, name: str) -> str:
        return {"bos": SPECIALS[0], "eos": SPECIALS[1]}[name]

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        self.tokenized.append((text, add_special, parse_special))
        tokens = [BOS] if add_special else []
        for part in re.split("(" + "|".join(map(re.escape, SPECIALS)) + ")", text):
            tokens += [256 + SPECIALS.index(part)] if part in SPECIALS else part.encode()
        return tokens

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def is_end_token(self, token: int) -> bool:
        return token in (END, 259)

    def keep_prefix(self, n_tokens: int) -> int:
        assert n_tokens <= len(self.kv)
        if n_tokens < len(self.kv) and not self.can_cut:
            n_tokens = 0
        del self.kv[n_tokens:]
        return n_tokens

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        assert tokens
        assert position == len(self.kv)
        self.on_evaluate(len(self.evaluations))
        self.evaluations.append((len(tokens), position, is_prefill))
        self.kv += tokens
        self._count(len(tokens), is_prefill)

    def _count(self, n_tokens: int, is_prefill: bool) -> None:
        took_ns, now = n_tokens * 1_000_000, self._counters
        self.now_ns += took_ns
        changed: dict[str, int] = {"bytes_read": now.bytes_read + 10 * n_tokens, "passes": now.passes + 1}
        phase, wait = ("prefill", 3 * n_tokens) if is_prefill else ("decode", 5 * n_tokens)
        waits = (f"disk_wait_{phase}_ns", wait), (f"transfer_wait_{phase}_ns", 2 * n_tokens)
        for name, increase in ((f"{phase}_ns", took_ns), *waits):
            changed[name] = getattr(now, name) + increase
        self._counters = replace(now, **changed)  # type: ignore[arg-type] # all these fields are int

    def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
        return WarmUpResult(0, 0, 0, 1.0, 1.0, False)

    def set_layer_listener(self, listener: Callable[[int, int], None] | None) -> None:
        """Scripted passes report no layers."""

    def logits(self) -> NDArray[np.float32]:
        return np.zeros(260, np.float32)

    def open_sampler(self, settings: SamplingSettings, prompt: Sequence[int]) -> ScriptedSampler:
        self.open_samplers += 1
        self.sampler_prompts.append(tuple(prompt))
        return ScriptedSampler(self, prompt)

    def device_fault(self) -> DeviceLostError | None:
        return self.lost

    def counters(self) -> Counters:
        return self._counters

    def experts(self) -> ExpertsSampled | None:
        return None

    def layers(self) -> LayersSampled | None:
        return None


class RecordingSink:
    """Notes every call in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def started(self, prompt_tokens: int, cached_tokens: int) -> None:
        self.calls.append(("started", prompt_tokens, cached_tokens))

    def prefill(self, done: int, total: int, cached: int, elapsed_ns: int) -> None:
        self.calls.append(("prefill", done, total, cached, elapsed_ns))

    def text(self, delta: str, completion_tokens: int) -> None:
        self.calls.append(("text", delta, completion_tokens))

    def pass_done(self) -> None:
        self.calls.append(("pass",))

    def of(self, kind: str) -> list[tuple[object, ...]]:
        return [call[1:] for call in self.calls if call[0] == kind]

    @property
    def shown(self) -> str:
        return "".join(str(call[0]) for call in self.of("text"))
