"""Settings come in levels: the conversation's own over its preset's over the program's."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

from app.history.records import ChatSettings
from engine.config import SamplingSettings

PROGRAM_WORDS = "Emberglass’s own value"


def program_settings(defaults: SamplingSettings) -> ChatSettings:
    """The lowest level, from what the engine does without being told."""
    return ChatSettings(
        temperature=defaults.temperature,
        top_k=defaults.top_k,
        top_p=defaults.top_p,
        min_p=defaults.min_p,
        repeat_penalty=defaults.repeat_penalty,
        max_tokens=defaults.max_tokens,
        seed=defaults.seed,
    )


def merged(upper: ChatSettings, lower: ChatSettings) -> ChatSettings:
    """What applies when `upper` is laid over `lower`."""
    return replace(lower, **{name: value for name, value in asdict(upper).items() if is_set(value)})


def differences(wanted: ChatSettings, lower: ChatSettings) -> ChatSettings:
    """The upper level that turns `lower` into `wanted`; what is equal stays open."""
    below = asdict(lower)
    return ChatSettings(
        **{name: value for name, value in asdict(wanted).items() if is_set(value) and value != below[name]}
    )


def changed_names(settings: ChatSettings) -> list[str]:
    """The fields this level decides."""
    return [field.name for field in fields(settings) if is_set(getattr(settings, field.name))]


def is_set(value: object) -> bool:
    """Whether a level says anything; an empty system prompt says nothing."""
    return value is not None and value != ""
