"""What the next layer's router will pick, guessed from the state that this layer's router sees.

A layer adds little to the residual stream, so the next router, asked about this layer's state, names most of
its experts a whole layer early. Which share of a guess comes true is measured as it goes, per layer, and a
guess counts for no more than that. Only absent experts count: those that are there are the likely ones, so
guesses that would cost a read are worse than the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placement.streaming import LEAST_LIKELY_OF_TOKEN

Floats = NDArray[np.float32]
_MOST_TOKENS = 64  # of a unit: enough to tell which experts it will want
_FIRST_TRUST = 0.5
_FIRST_TRUST_OF_TOKEN = 0.35  # two guesses must come true before anything is read for one
_RARELY = 4  # passes
_KEPT = 0.95  # of the trust, per guess: after five in vain a decoded token reads none ahead


def _softmax(scores: Floats, _: Floats | None) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _add(scores: Floats, bias: Floats | None) -> Floats:
    return scores if bias is None else scores + bias


def _sigmoid(scores: Floats, _: Floats | None) -> Floats:
    shares: Floats = np.reciprocal(1 + np.exp(-scores))
    return shares


def _softplus(scores: Floats, _: Floats | None) -> Floats:
    return np.logaddexp(scores, np.float32(0))


def _root(scores: Floats, _: Floats | None) -> Floats:
    return np.sqrt(scores)


# What llama.cpp's graphs do to scores before they sort them, by the operation's name. The first argument has
# the shape (tokens, experts), the second is the operation's vector, if it has one.
SCORE_STEPS: Mapping[bytes, Callable[[Floats, Floats | None], Floats]] = {
    b"ADD": _add,
    b"SOFT_MAX": _softmax,
    b"SIGMOID": _sigmoid,
    b"SOFTPLUS": _softplus,
    b"SQRT": _root,
}


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """How a layer picks: its state times `weight`, (experts, elements); `steps` in order; the largest win.

    `norm`, (elements,): what its state was scaled by after RMS normalisation, if that is known. `hops`: nodes
    of the graph between the ranking and the product with `weight`.
    """

    weight: Floats
    norm: Floats | None
    steps: tuple[tuple[bytes, Floats | None], ...]
    hops: int = 0

    def picks(self, state: Floats, count: int) -> NDArray[np.int64]:
        """The first `count` experts of each token, in no order, shape (tokens, count).

        `state`: (tokens, elements).
        """
        scores = state @ self.weight.T
        for step, bias in self.steps:
            scores = SCORE_STEPS[step](scores, bias)
        best: NDArray[np.int64] = np.argpartition(scores, -count, axis=1)[:, -count:]
        return best


class RouterGuess:
    """Guesses layer by layer; owned by the engine thread. `routers`: by index of the layer, where known."""

    def __init__(self, routers: Mapping[int, Router], n_layer: int, top_k: int) -> None:
        self._routers = routers
        self._top_k = top_k
        self._scales = {at: _scale(routers[at], routers[at + 1]) for at in routers if at + 1 in routers}
        self._n_layer = n_layer
        self._trust: dict[tuple[int, bool], NDArray[np.float64]] = {}  # by ranks and phase
        self._phase = top_k, False
        self._passes = 0
        self._guess: NDArray[np.int64] | None = None
        self._is_absent = np.empty(0, np.bool_)
        self._of_layer = -1

    def begin_pass(self, is_prefill: bool, ranks: int | None) -> None:
        """Of each token only the first `ranks` picks are of interest in this pass (None: all)."""
        self._phase, self._guess = (ranks or self._top_k, is_prefill), None
        self._passes += 1
        if self._phase not in self._trust:
            first = _FIRST_TRUST if is_prefill else _FIRST_TRUST_OF_TOKEN
            self._trust[self._phase] = np.full(self._n_layer, first)

    def trust(self, layer: int) -> float:
        """Share of the guessed picks of absent experts that came true lately, in passes such as this."""
        return float(self._trust[self._phase][layer])

    def router_before_guess(self, layer: int) -> Router | None:
        """The layer's router if its state tells something of the next layer's picks worth knowing, or None.

        Where no expert would be read for a guess, it is made now and then, to find out when that changes.
        """
        if layer not in self._scales:
            return None
        is_due = (
            self._phase[1] or self._passes % _RARELY == 0 or self.trust(layer + 1) >= LEAST_LIKELY_OF_TOKEN
        )
        return self._routers[layer] if is_due else None

    def guess_next(self, layer: int, state: Floats, is_absent: NDArray[np.bool_]) -> bool:
        """What the layer after `layer` will pick, from what this layer's router saw: (tokens, elements).

        `is_absent`: which experts of that layer would have to be read. Returns whether one is guessed.
        """
        with np.errstate(all="ignore"):  # of a strange state the guess is bad, and found out
            sample = state[:: _step(len(state))] * self._scales[layer]
            self._guess = self._routers[layer + 1].picks(sample, self._phase[0])
        self._of_layer, self._is_absent = layer + 1, is_absent
        return bool(is_absent[self._guess].any())

    def compare(self, layer: int, picked: NDArray[np.int32]) -> None:
        """The layer picked these, (tokens, top-k): was it guessed?"""
        guess, self._guess = self._guess, None
        sample = picked[:: _step(len(picked)), : self._phase[0]]
        if guess is None or self._of_layer != layer or len(guess) != len(sample):
            return
        is_right = (guess[:, :, None] == sample[:, None, :]).any(axis=2)[self._is_absent[guess]]
        if len(is_right):
            trust = self._trust[self._phase]
            trust[layer] += (is_right.mean() - trust[layer]) * (1 - _KEPT ** len(is_right))

    def chance(self, layer: int, likely: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that a token of this unit picks each absent expert of the layer, shape (experts,).

        The guess as far as it is trusted; for the rest, and without a guess, what was `likely` anyway.
        """
        if self._guess is None or self._of_layer != layer:
            return likely
        trust = self.trust(layer)
        counts = np.bincount(self._guess.ravel(), minlength=len(likely))
        chance: NDArray[np.float64] = trust * counts / len(self._guess) + (1 - trust) * likely
        return chance


def _scale(here: Router, coming: Router) -> Floats:
    """From the state that one router sees to that of the next: another norm's weights."""
    if here.norm is None or coming.norm is None:
        return np.ones(1, np.float32)
    is_usable = np.abs(here.norm) > np.float32(1e-6)
    return np.where(is_usable, coming.norm / np.where(is_usable, here.norm, 1), 0).astype(np.float32)


def _step(n_tokens: int) -> int:
    return -(-n_tokens // _MOST_TOKENS) or 1
