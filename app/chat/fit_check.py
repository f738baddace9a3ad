"""Asks the engine how long a prompt is, and what to leave out if it is too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.chat.prompt_fit import Fit, FitSearch, surely_fits
from app.chat.token_counter import TokenCounter
from engine.config import ChatMessage
from engine.events import TokensCounted

Checked = Callable[[Fit | None], None]


def check_fit(
    messages: Sequence[ChatMessage], context_tokens: int, counter: TokenCounter, checked: Checked
) -> None:
    """Call `checked` with the figures, at once with None if the prompt can't be too long.

    Counting costs a round trip to the engine's thread, so short prompts go without. None also if nothing
    can be counted: then the engine itself will say what is wrong.
    """
    if surely_fits(messages, context_tokens):
        checked(None)
        return
    search = FitSearch(messages)

    def counted(event: TokensCounted | None) -> None:
        if event is None:
            checked(None)
            return
        search.answer(event.tokens, event.context_tokens)
        if search.fit is not None:
            checked(search.fit)
        else:
            counter.count(search.question, counted)

    counter.count(search.question, counted)
