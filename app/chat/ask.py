"""What an answer is wanted for, and what happens to that wish before it becomes a run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from app.chat.prompt_fit import Fit


@dataclass(frozen=True, slots=True)
class Ask:
    """`message_id` is the user's message to answer, or with `is_continuation` the answer to go on with.

    `is_shortened` allows leaving out the oldest turns. Time to first token counts from `asked_ns`.
    """

    conversation_id: int
    message_id: int
    is_continuation: bool = False
    is_shortened: bool = False
    asked_ns: int = field(default_factory=time.perf_counter_ns, compare=False)


@dataclass(frozen=True, slots=True)
class TooLong:
    """An ask whose prompt doesn't fit, with the figures; it is held until the user decides."""

    ask: Ask
    fit: Fit
