"""Whether a prompt fits the context window, and which of the oldest turns must go if it doesn't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import ChatMessage

_MOST_ANSWER_ROOM_TOKENS = 256
# A token stands for at least one byte; a template adds marks to every turn and some words of its own.
_TEMPLATE_TOKENS, _TURN_TOKENS = 1024, 32


def answer_room_tokens(context_tokens: int) -> int:
    """Tokens that must stay free for an answer to be worth beginning."""
    return min(_MOST_ANSWER_ROOM_TOKENS, context_tokens // 8)


def surely_fits(messages: Sequence[ChatMessage], context_tokens: int) -> bool:
    """Whether the prompt fits however badly it is cut into tokens; False says nothing."""
    most = _TEMPLATE_TOKENS + sum(_TURN_TOKENS + len(each.content.encode()) for each in messages)
    return most + answer_room_tokens(context_tokens) <= context_tokens


@dataclass(frozen=True, slots=True)
class Fit:
    """Exact figures of a prompt. `messages` are what fits: all, or those without the oldest
    `left_out_messages`; empty if not even the last message does.
    """

    context_tokens: int
    prompt_tokens: int
    messages: tuple[ChatMessage, ...]
    left_out_messages: int = 0
    left_out_tokens: int = 0

    @property
    def room_tokens(self) -> int:
        """The most a prompt may take."""
        return self.context_tokens - answer_room_tokens(self.context_tokens)

    @property
    def is_whole(self) -> bool:
        return bool(self.messages) and self.left_out_messages == 0


class FitSearch:
    """Finds the fewest turns to leave out with as few counts as possible; pure.

    Ask `question` to be counted and give the figure to `answer` until `fit` is there. Turns go in pairs
    from the oldest, a user's with its answer; system messages and the last user's message always stay.
    """

    def __init__(self, messages: Sequence[ChatMessage]) -> None:
        self._system = [each for each in messages if each.role == "system"]
        self._turns = [each for each in messages if each.role != "system"]
        users = [index for index, each in enumerate(self._turns) if each.role == "user"]
        self._starts = [0, *users[1:]]  # where the kept turns may begin
        self._low, self._high = 0, len(self._starts) - 1
        self._counts: dict[int, int] = {}
        self._asked = 0
        self.fit: Fit | None = None

    @property
    def question(self) -> tuple[ChatMessage, ...]:
        """The messages to be counted next."""
        return self._kept(self._asked)

    def answer(self, tokens: int, context_tokens: int) -> None:
        """`question` takes so many tokens."""
        self._counts[self._asked] = tokens
        is_fitting = tokens <= context_tokens - answer_room_tokens(context_tokens)
        if is_fitting:
            self._high = self._asked
        else:
            self._low = self._asked + 1
        if self._low > self._high:
            self.fit = Fit(context_tokens, self._counts[0], ())
        elif self._low == self._high and self._high in self._counts:
            self.fit = self._found(context_tokens)
        else:
            self._asked = self._next()

    def _next(self) -> int:
        """The last message alone comes second: if it doesn't fit, nothing will."""
        last = len(self._starts) - 1
        return last if last not in self._counts else (self._low + self._high) // 2

    def _found(self, context_tokens: int) -> Fit:
        return Fit(
            context_tokens,
            self._counts[0],
            self._kept(self._high),
            left_out_messages=self._starts[self._high] - self._starts[0],
            left_out_tokens=self._counts[0] - self._counts[self._high],
        )

    def _kept(self, index: int) -> tuple[ChatMessage, ...]:
        return (*self._system, *self._turns[self._starts[index] :])
