"""What one measured child process is asked to do, and what it reports; both travel as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

STATES = ("cold", "warm-identical", "rotating")


@dataclass(frozen=True, slots=True)
class BenchTask:
    """One side of one repetition. `side` is "ours" or "stock"; None: chosen by the backend.

    The cold and the warm-identical pass use the prompt of `seed`, the rotating one that of `seed` + 1.
    `repack`: of our slots, as LoadSettings has it; for stock "on" or "off".
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
    hot_per_layer: int | None = None
    repack: str = "off"
    devices: tuple[str, ...] = ()
    vram_budget_bytes: int | None = None
    states: tuple[str, ...] = STATES

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BenchTask:
        return cls(**_with_tuples(json.loads(text), "devices", "states"))


@dataclass(frozen=True, slots=True)
class PassCosts:
    """What a pass cost beside its time; None where this side can't tell.

    `experts_from_disk` of `expert_requests` had to be read for this pass, `expert_bytes_read` were read.
    A request is one distinct expert of a layer and a unit, a pick one expert for one token.
    `callback_ns` is our own routing code, waits not included. `row_bytes_read`: of tables read by row.
    """

    bytes_read: int
    disk_wait_ns: int | None = None
    disk_busy_ns: int | None = None
    transfer_wait_ns: int | None = None
    callback_ns: int | None = None
    expert_requests: int | None = None
    experts_from_disk: int | None = None
    expert_bytes_read: int | None = None
    row_bytes_read: int | None = None
    picks: int | None = None

    def since(self, before: PassCosts) -> PassCosts:
        """This cumulative state minus an earlier one."""
        spent: dict[str, Any] = {}
        for each in fields(self):
            now, then = getattr(self, each.name), getattr(before, each.name)
            spent[each.name] = None if now is None else now - then
        return PassCosts(**spent)


@dataclass(frozen=True, slots=True)
class StatePass:
    """One prompt and its decoded tokens. `logits` are digests: after the prompt, then after each step.

    `needed_bytes`: of the distinct experts that the prompt used and that were not in memory when it came, and
    of rows; what any engine would have to read. `costs` are those of the prompt and of the steps together.
    """

    state: str
    prompt_tokens: int
    prefill_ns: int
    step_ns: tuple[int, ...]
    logits: tuple[str, ...]
    costs: PassCosts
    prefill_costs: PassCosts
    needed_bytes: int | None
    peak_rss_bytes: int

    @property
    def decode_costs(self) -> PassCosts:
        return self.costs.since(self.prefill_costs)

    @property
    def decode_ns(self) -> int:
        return sum(self.step_ns)

    def decode_tokens_per_second(self, most_steps: int | None = None) -> float:
        """Rate over the first `most_steps` steps (all by default)."""
        steps = self.step_ns[:most_steps]
        return len(steps) * 1e9 / sum(steps) if steps else 0.0

    @property
    def prefill_tokens_per_second(self) -> float:
        return self.prompt_tokens * 1e9 / self.prefill_ns


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What one child measured; `group_peak_bytes` is added by the parent.

    `placement`: slots, locked bytes, devices and why weights are repacked or not, of our side, as JSON values
    named as in model_facts.ModelInfo.
    """

    side: str
    unit_tokens: int
    load_ns: int
    load_bytes_read: int
    expert_bytes: int
    budget_bytes: int | None
    is_repacked: bool
    passes: tuple[StatePass, ...]
    notes: tuple[str, ...] = ()
    group_peak_bytes: int | None = None
    placement: dict[str, Any] = field(default_factory=dict)

    def of(self, state: str) -> StatePass:
        """The pass of one state."""
        return next(p for p in self.passes if p.state == state)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ChildReport:
        values = _with_tuples(json.loads(text), "notes")
        passes = tuple(_pass_from(entry) for entry in values.pop("passes"))
        return cls(**values, passes=passes)


def _pass_from(entry: dict[str, Any]) -> StatePass:
    values = _with_tuples(entry, "step_ns", "logits")
    for name in ("costs", "prefill_costs"):
        values[name] = PassCosts(**values[name])
    return StatePass(**values)


def _with_tuples(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """JSON has no tuples: those of these names come back as lists."""
    return values | {name: tuple(values[name]) for name in names}


@dataclass(frozen=True, slots=True)
class BenchCase:
    """One combination to measure; `requested_unit` None: automatic."""

    prompt_tokens: int
    requested_unit: int | None = None
    repack: str = "auto"

    @property
    def unit_words(self) -> int | str:
        return self.requested_unit or "auto"


@dataclass(frozen=True, slots=True)
class BenchRun:
    """Everything measured for one case, repetition by repetition.

    `stock` is shared by cases with the same prompt and unit. `resident`: our side without cap or budget, so
    that every expert fits, with weights laid out as in `ours`. `reference`: stock with that layout where
    `stock` has the other one; for its logits only.
    """

    case: BenchCase
    ours: list[ChildReport] = field(default_factory=list)
    stock: list[ChildReport] = field(default_factory=list)
    resident: list[ChildReport] = field(default_factory=list)
    reference: list[ChildReport] = field(default_factory=list)
