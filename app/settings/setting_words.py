"""What can be set for answers: names, ranges and explanations."""

from __future__ import annotations

from dataclasses import dataclass

SYSTEM_PROMPT_WORDS = "Told to the model before the conversation: who it is and how to answer."


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number of ChatSettings; `unset_text` is shown for None where no lower level has a number."""

    name: str
    title: str
    explanation: str
    least: float
    most: float
    step: float
    decimals: int = 0
    unset_text: str = ""

    @property
    def range_words(self) -> str:
        low, high = (f"{value:.{self.decimals}f}" for value in (self.least, self.most))
        return f"{low} to {high}"


NUMBER_FIELDS = (
    NumberField(
        "temperature", "Temperature",
        "How freely words are chosen. 0 takes the likeliest; 0.7 suits most; above 1.2 it rambles.",
        0, 2, 0.05, 2,
    ),
    NumberField(
        "top_k", "Top-k", "Only this many of the likeliest tokens are considered. 0 considers all.",
        0, 1000, 5,
    ),
    NumberField(
        "top_p", "Top-p",
        "Only the likeliest tokens that together have this probability are considered. 1 considers all.",
        0.01, 1, 0.01, 2,
    ),
    NumberField(
        "min_p", "Min-p",
        "Tokens less likely than this share of the likeliest one are left out. 0 leaves none out.",
        0, 0.99, 0.01, 2,
    ),
    NumberField(
        "repeat_penalty", "Repeat penalty",
        "Above 1 makes words that were just used less likely; 1 changes nothing; above 1.3 harms code.",
        0.5, 2, 0.05, 2,
    ),
    NumberField(
        "max_tokens", "Longest answer", "An answer ends after this many tokens, finished or not.",
        1, 1_048_576, 128, 0, "no limit",
    ),
    NumberField(
        "seed", "Seed", "The same seed, settings and text give the same answer again.",
        0, 4_294_967_295, 1, 0, "a new one each time",
    ),
)  # fmt: skip
