"""What a simulated model says, how it is built, how long it takes and where it fails."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import GIB, MIB
from engine.errors import EngineError, UsageError

_ABOUT = """\
*This answer is simulated: no model is loaded, the words are fixed, and the figures beside them come from \
a small arithmetic model of a disk.*

**Emberglass** runs mixture-of-experts models that are larger than the memory of the machine. Such a model \
has many *experts* per layer, and its router picks only a few of them for each token. So the dense weights \
stay in memory, every layer keeps a pool of its most used experts, and the rest is read from the disk just \
before it is needed. The map beside this text shows where every expert lives right now.

What you wait for has a name, too. The time to the first token is split into phases: the queue, the load, \
the template, the prefill with its disk waits, and the first decoded token. To see real figures, open \
a GGUF file of a mixture-of-experts model.
"""
_CODE = """\
*This answer is simulated.* A short example, so that you can see how code looks here:

```python
def hit_rate(requests: int, misses: int) -> float:
    \"\"\"Share of expert requests that needed no read.\"\"\"
    return 1 - misses / requests if requests else 0.0
```

The function returns **0.0** for an empty run instead of dividing by zero.
"""
_TABLE = """\
*This answer is simulated.* The tiers, from fast to slow:

| tier | holds | typical speed |
|---|---|---|
| VRAM | the hottest experts | hundreds of GB/s |
| RAM | the pool of each layer | tens of GB/s |
| disk | all other experts | 1–7 GB/s |
"""


@dataclass(frozen=True, slots=True)
class FakeScript:
    """A simulated model; the same script, seed and requests give the same answers and figures.

    `answers` are (keyword, Markdown) pairs: the first keyword found in the last message chooses the
    answer, otherwise `default_answer`. `n_expert` 0 makes a dense model. `zipf_exponent` says how
    unevenly experts are used (0: evenly). `load_failure` is raised halfway through the dense read,
    `failing_decode_token` makes a read fail once, at that decoded token since the load (0: in the
    first prefill).
    """

    name: str = "Simulated MoE 24×64"
    answers: tuple[tuple[str, str], ...] = (("code", _CODE), ("table", _TABLE))
    default_answer: str = _ABOUT
    n_layer: int = 24
    n_expert: int = 64
    top_k: int = 4
    pool_per_layer: int = 20
    window_slots: int = 96
    expert_bytes: int = 6 * MIB
    dense_bytes: int = 2 * GIB
    kv_bytes_per_token: int = 96 << 10
    compute_bytes: int = 256 * MIB
    context_tokens: int = 8192
    unit_tokens: int = 64
    zipf_exponent: float = 1.5
    seed: int = 1
    load_seconds: float = 1.2
    initialise_seconds: float = 0.3
    prefill_token_seconds: float = 0.012
    decode_token_seconds: float = 0.06
    disk_bytes_per_second: float = 2.0e9
    load_failure: EngineError | None = None
    failing_decode_token: int | None = None

    def __post_init__(self) -> None:
        if self.n_expert and not self.top_k <= self.pool_per_layer <= self.n_expert:
            raise UsageError(
                f"A pool of {self.pool_per_layer} experts does not fit between top-k {self.top_k} "
                f"and {self.n_expert} experts.",
                "Correct the script of the simulated model.",
            )
        if self.n_expert and self.window_slots < 1:
            raise UsageError(
                "The simulated model needs a window of at least one slot.", "Correct its script."
            )

    @property
    def is_dense(self) -> bool:
        return self.n_expert == 0

    @property
    def slots_bytes(self) -> int:
        """Bytes of all expert slots: the pools of all layers and the window."""
        if self.is_dense:
            return 0
        return (self.n_layer * self.pool_per_layer + self.window_slots) * self.expert_bytes

    @property
    def file_bytes(self) -> int:
        return self.dense_bytes + self.n_layer * self.n_expert * self.expert_bytes

    def answer_to(self, message: str) -> str:
        """The Markdown text that answers `message`."""
        lowered = message.lower()
        return next((text for keyword, text in self.answers if keyword in lowered), self.default_answer)
