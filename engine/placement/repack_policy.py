"""Whether weights are rewritten for the processor's fastest kernels as they enter memory.

All weights of a model or none: so its answers are those of stock llama.cpp, with its repacking or without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.config import Repack, format_size

_REWRITING = {"Q4_0": 0.2e-9, "IQ4_NL": 0.2e-9, "MXFP4": 0.2e-9, "Q8_0": 0.2e-9}  # others cost far more
_REWRITERS = 1.5  # cores' worth of rewriting while a layer waits: an expert is several matrices


@dataclass(frozen=True, slots=True)
class DecodeBytes:
    """Expected bytes per decoded token of the weights that can be repacked.

    `computed`: what the token passes; `missed`: by type name, what of it must be read, and so rewritten.
    """

    computed: float
    missed: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RepackRates:
    """Seconds per byte: what one core takes to decode with it, plain and repacked, and to rewrite it by type.

    `memory`: what the memory takes, whatever the cores. Measured with `tests.support.measure_repacking` on
    two cores at Q4_0, Q4_K, Q2_K, IQ4_NL and MXFP4, rounded to the side of leaving weights plain. Constants,
    so that equal loads are decided alike and answers don't change with the machine's other work.
    """

    plain: float = 0.148e-9
    repacked: float = 0.1e-9
    memory: float = 0.04e-9
    rewriting: Mapping[str, float] = field(default_factory=lambda: _REWRITING)
    rewriting_others: float = 0.6e-9

    def saved(self, threads: int) -> float:
        """Seconds per byte that faster kernels save; none where the memory is what bounds both."""
        return max(self.plain / threads, self.memory) - max(self.repacked / threads, self.memory)

    def rewritten(self, missed: Mapping[str, float], threads: int) -> float:
        """Seconds that decoding waits for rewriting; nothing computes meanwhile."""
        seconds = sum(n * self.rewriting.get(name, self.rewriting_others) for name, n in missed.items())
        return seconds / min(threads, _REWRITERS)


@dataclass(frozen=True, slots=True)
class RepackChoice:
    """The decision and why, as a sentence for the user; empty where there was nothing to decide."""

    is_repacked: bool
    reason: str = ""


def choose_repacking(
    wanted: Repack, use: DecodeBytes, is_fully_resident: bool, threads: int, rates: RepackRates
) -> RepackChoice:
    """Automatic: where decoding gains, too. Prompts always gain, they use an expert for many tokens."""
    if wanted is Repack.OFF:
        return RepackChoice(False)
    if use.computed == 0:
        return RepackChoice(False, "Weights stay as they are: none has a faster form on this processor.")
    if wanted is Repack.ON:
        return RepackChoice(True, "Weights are repacked for the processor's fastest kernels, as asked.")
    if is_fully_resident:
        return RepackChoice(
            True, "Weights are repacked for the processor's fastest kernels: all experts fit into memory."
        )
    missed = format_size(sum(use.missed.values()))
    if rates.rewritten(use.missed, threads) <= use.computed * rates.saved(threads):
        return RepackChoice(
            True,
            "Weights are repacked for the processor's fastest kernels: "
            f"only about {missed} of experts per token must be read and rewritten.",
        )
    return RepackChoice(
        False,
        f"Weights are not repacked for faster kernels: about {missed} of experts must be read per token, "
        "and rewriting them would take longer than it saves.",
    )
