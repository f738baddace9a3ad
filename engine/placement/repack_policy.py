"""Whether weights are rewritten for the processor's fastest kernels as they enter memory.

All weights of a model or none: so its answers are those of stock llama.cpp, with its repacking or without.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import Repack, format_size


@dataclass(frozen=True, slots=True)
class DecodeBytes:
    """Expected bytes per decoded token of the weights that can be repacked.

    `computed`: what the token passes; `missed`: what of it must be read, and so rewritten, for the token.
    """

    computed: float
    missed: float


@dataclass(frozen=True, slots=True)
class RepackRates:
    """Processor seconds of one core per byte: what rewriting costs, what the faster kernels save in decoding.

    The default cost is the dearest type's, the default gain the least that was measured (README, figures).
    Constants, so that the same load is always decided alike and its answers don't change with the weather.
    """

    rewritten: float = 0.7e-9
    saved: float = 0.03e-9


@dataclass(frozen=True, slots=True)
class RepackChoice:
    """The decision and why, as a sentence for the user; empty where there was nothing to decide."""

    is_repacked: bool
    reason: str = ""


def choose_repacking(
    wanted: Repack, use: DecodeBytes, is_fully_resident: bool, threads: int, rates: RepackRates
) -> RepackChoice:
    """Automatic: where decoding gains, too. Prompts always gain, they use an expert for many tokens.

    The worst case is assumed: nothing computes while an expert is rewritten by one core, and the time saved
    is shared by all threads.
    """
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
    missed = format_size(use.missed)
    if use.missed * rates.rewritten <= use.computed * rates.saved / threads:
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
