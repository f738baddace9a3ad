"""What applies to one answer: the conversation's settings over its preset's over the program's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from app.history.records import ChatSettings
from app.history.store import HistoryStore
from engine.config import ChatMessage, SamplingSettings

SAMPLING_NAMES = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Nothing is left open here; `system_prompt` may be empty."""

    sampling: SamplingSettings
    system_prompt: str = ""

    def messages(self, turns: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The system message, if there is one, and the turns."""
        system = [ChatMessage("system", self.system_prompt)] if self.system_prompt.strip() else []
        return [*system, *turns]

    def stats(self) -> dict[str, object]:
        """What is stored with an answer; JSON values only."""
        known = asdict(self.sampling)
        return {"system_prompt": self.system_prompt, **{name: known[name] for name in SAMPLING_NAMES}}


def resolved(levels: Sequence[ChatSettings], defaults: SamplingSettings) -> RunSettings:
    """The first of `levels` that says something decides; raises UsageError for a value out of range."""
    chosen: dict[str, object] = {}
    system_prompt = ""
    for level in reversed(levels):
        values = asdict(level)
        chosen |= {name: values[name] for name in SAMPLING_NAMES if values[name] is not None}
        system_prompt = level.system_prompt or system_prompt
    return RunSettings(replace(defaults, **chosen), system_prompt)  # type: ignore[arg-type] # the same fields


def run_settings(
    store: HistoryStore,
    conversation_id: int | None,
    defaults: SamplingSettings,
    pending: Sequence[ChatSettings] = (),
) -> RunSettings:
    """Settings of a conversation; one that isn't begun yet (None) has the levels `pending`.

    Raises HistoryError or UsageError.
    """
    if conversation_id is None:
        return resolved(pending, defaults)
    preset = store.preset_of(conversation_id)
    levels = [store.settings_of(conversation_id), *([preset.settings] if preset else [])]
    return resolved(levels, defaults)
