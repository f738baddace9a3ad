"""The tokenizer: byte-level BPE, split as Qwen 2 splits text, which llama.cpp knows as `pre = qwen2`."""

from __future__ import annotations

from collections.abc import Sequence

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


def with_dropout(tokenizer: Tokenizer, share: float) -> Tokenizer:
    """The same tokenizer leaving out merges at random (BPE dropout): teaches that spelling has parts."""
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.model.dropout = share
    return copy


class ChatFormat:
    """Turns to token ids, in the ChatML form of the template in the exported file."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._plain, self._rough = tokenizer, with_dropout(tokenizer, 0.1)
        self.pad, self.start, self.end = (tokenizer.token_to_id(text) for text in SPECIAL)

    def encode(self, text: str, is_rough: bool = False) -> list[int]:
        return (self._rough if is_rough else self._plain).encode(text).ids

    def message(self, role: str, text: str, is_rough: bool = False) -> list[int]:
        return [
            self.start, *self.encode(f"{role}\n"), *self.encode(text, is_rough), self.end, *self.encode("\n")
        ]  # fmt: skip

    def question(self, text: str, is_rough: bool = False) -> list[int]:
        """A user's message and the beginning of the answer's."""
        return [*self.message("user", text, is_rough), self.start, *self.encode("assistant\n")]

    def answer(self, text: str) -> list[int]:
        """What the model has to write after `question`, the end token last."""
        return [*self.encode(text), self.end]
