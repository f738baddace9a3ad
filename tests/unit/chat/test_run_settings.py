"""Which level decides: conversation, preset, program."""

from __future__ import annotations

import pytest

from app.chat.run_settings import RunSettings, resolved
from app.history.records import ChatSettings
from engine.config import ChatMessage, SamplingSettings
from engine.errors import UsageError

DEFAULTS = SamplingSettings(temperature=0.4)


def test_each_value_comes_from_the_first_level_that_sets_it() -> None:
    conversation = ChatSettings(temperature=0.0, seed=5)
    preset = ChatSettings("Be kind.", temperature=1.0, top_k=3, max_tokens=100)
    run = resolved([conversation, preset], DEFAULTS)
    expected = SamplingSettings(temperature=0.0, seed=5, top_k=3, max_tokens=100)
    assert run == RunSettings(expected, "Be kind.")


def test_without_levels_the_defaults_stand() -> None:
    assert resolved([], DEFAULTS) == RunSettings(DEFAULTS, "")
    assert resolved([ChatSettings(), ChatSettings()], DEFAULTS) == RunSettings(DEFAULTS, "")


def test_the_conversation_s_prompt_wins() -> None:
    assert resolved([ChatSettings("Mine."), ChatSettings("Preset.")], DEFAULTS).system_prompt == "Mine."


def test_a_system_message_only_for_a_prompt() -> None:
    turns = [ChatMessage("user", "Hi")]
    assert RunSettings(DEFAULTS, " \n").messages(turns) == turns
    assert RunSettings(DEFAULTS, "Be kind.").messages(turns) == [ChatMessage("system", "Be kind."), *turns]


def test_a_value_out_of_range_is_named() -> None:
    with pytest.raises(UsageError, match="top-p"):
        resolved([ChatSettings(top_p=0.0)], DEFAULTS)


def test_what_is_recorded_is_what_was_used() -> None:
    stats = resolved([ChatSettings("P", min_p=0.2)], DEFAULTS).stats()
    assert stats == {
        "system_prompt": "P", "temperature": 0.4, "top_k": 40, "top_p": 0.95, "min_p": 0.2,
        "repeat_penalty": 1.0, "max_tokens": None, "seed": None,
    }  # fmt: skip
