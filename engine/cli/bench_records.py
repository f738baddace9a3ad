"""What one measured child process is asked to do, and what it reports; both travel as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

STATES = ("cold", "warm-identical", "rotating")


@dataclass(frozen=True, slots=True)
class BenchTask:
    """One side of one repetition. `side` is "ours" or "stock"; None: chosen by the backend.

    The cold and the warm-identical pass use the prompt of `seed`, the rotating one that of `seed` + 1.
    """

    side: str
    path: str
    prompt_tokens: int
    decode_tokens: int
    context_tokens: int
    threads: int
    n_vocab: int
    seed: int
    budget_bytes: int | None = None
    unit_tokens: int | None = None
    is_prefetch_on: bool = True
    routing: str = "exact"
    pool_per_layer: int | None = None
    is_pool_fixed: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BenchTask:
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class PassCosts:
    """What a pass cost beside its time; None where this side can't tell.

    `experts_from_disk` of `expert_requests` had to be read for this pass, `expert_bytes_read` were read.
    `callback_ns` is our own routing code, waits not included.
    """

    bytes_read: int
    disk_wait_ns: int | None = None
    disk_busy_ns: int | None = None
    callback_ns: int | None = None
    expert_requests: int | None = None
    experts_from_disk: int | None = None
    expert_bytes_read: int | None = None

    def since(self, before: PassCosts) -> PassCosts:
        """This cumulative state minus an earlier one."""
        then = asdict(before)
        spent: dict[str, Any] = {
            name: None if now is None else now - then[name] for name, now in asdict(self).items()
        }
        return PassCosts(**spent)


@dataclass(frozen=True, slots=True)
class StatePass:
    """One prompt and its decoded tokens. `logits` are digests: after the prompt, then after each step."""

    state: str
    prompt_tokens: int
    prefill_ns: int
    step_ns: tuple[int, ...]
    logits: tuple[str, ...]
    costs: PassCosts
    peak_rss_bytes: int

    @property
    def elapsed_ns(self) -> int:
        return self.prefill_ns + sum(self.step_ns)

    def decode_tokens_per_second(self, most_steps: int | None = None) -> float:
        """Rate over the first `most_steps` steps (all by default)."""
        steps = self.step_ns[:most_steps]
        return len(steps) * 1e9 / sum(steps) if steps else 0.0

    @property
    def prefill_tokens_per_second(self) -> float:
        return self.prompt_tokens * 1e9 / self.prefill_ns


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What one child measured; `group_peak_bytes` is added by the parent."""

    side: str
    unit_tokens: int
    load_ns: int
    load_bytes_read: int
    expert_bytes: int
    budget_bytes: int | None
    passes: tuple[StatePass, ...]
    notes: tuple[str, ...] = ()
    group_peak_bytes: int | None = None

    def of(self, state: str) -> StatePass:
        """The pass of one state."""
        return next(p for p in self.passes if p.state == state)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ChildReport:
        values: dict[str, Any] = json.loads(text)
        passes = tuple(_pass_from(entry) for entry in values.pop("passes"))
        notes = tuple(values.pop("notes"))
        return cls(**values, passes=passes, notes=notes)


def _pass_from(entry: dict[str, Any]) -> StatePass:
    costs = PassCosts(**entry.pop("costs"))
    steps, logits = tuple(entry.pop("step_ns")), tuple(entry.pop("logits"))
    return StatePass(**entry, step_ns=steps, logits=logits, costs=costs)


@dataclass(frozen=True, slots=True)
class BenchRun:
    """Everything measured for one requested unit (None: auto), repetition by repetition."""

    requested_unit: int | None
    ours: list[ChildReport] = field(default_factory=list)
    stock: list[ChildReport] = field(default_factory=list)
