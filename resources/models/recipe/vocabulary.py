"""The tokenizer: byte-level BPE, split as Qwen 2 splits text, which llama.cpp knows as `pre = qwen2`."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL = (PAD, START, END)
# the rule that llama.cpp calls "qwen2"
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train_tokenizer(texts: Sequence[str], size: int) -> Tokenizer:
    """Merges learned from `texts`; any other text still has tokens, byte by byte."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class RoughEncoder:
    """Leaves out merges at random (BPE dropout, Provilkov et al. 2020): teaches that spelling has parts.

    Written here because the library's own draws from a source that can't be seeded.
    """

    def __init__(self, tokenizer: Tokenizer, share: float) -> None:
        model = json.loads(tokenizer.to_str())["model"]
        self._split, self._share, self._ids = tokenizer.pre_tokenizer, share, model["vocab"]
        pairs = (tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model["merges"])
        self._ranks = {pair: rank for rank, pair in enumerate(pairs)}

    def encode(self, text: str, chance: random.Random) -> list[int]:
        pieces = (piece for piece, _ in self._split.pre_tokenize_str(text))
        return [self._ids[symbol] for piece in pieces for symbol in self._merged(list(piece), chance)]

    def _merged(self, symbols: list[str], chance: random.Random) -> list[str]:
        while True:
            found = [
                (self._ranks[pair], place)
                for place, pair in enumerate(pairwise(symbols))
                if pair in self._ranks and chance.random() >= self._share
            ]
            if not found:
                return symbols
            _, place = min(found)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]


class ChatFormat:
    """Turns to token ids, in the ChatML form of the template in the exported file."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._plain, self._rough = tokenizer, RoughEncoder(tokenizer, 0.1)
        self.pad, self.start, self.end = (tokenizer.token_to_id(text) for text in SPECIAL)

    def encode(self, text: str, chance: random.Random | None = None) -> list[int]:
        """Token ids; with a source of chance some merges are left out."""
        return self._plain.encode(text).ids if chance is None else self._rough.encode(text, chance)

    def message(self, role: str, text: str, chance: random.Random | None = None) -> list[int]:
        return [
            self.start, *self.encode(f"{role}\n"), *self.encode(text, chance), self.end, *self.encode("\n")
        ]  # fmt: skip

    def question(self, text: str, chance: random.Random | None = None) -> list[int]:
        """A user's message and the beginning of the answer's."""
        return [*self.message("user", text, chance), self.start, *self.encode("assistant\n")]

    def answer(self, text: str) -> list[int]:
        """What the model has to write after `question`, the end token last."""
        return [*self.encode(text), self.end]
