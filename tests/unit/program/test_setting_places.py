"""A fault names settings as values; each front end says where they are."""

from __future__ import annotations

import pickle

from app.setting_places import next_step_with_places
from engine.cli.option_words import next_step_with_options
from engine.errors import BudgetError, Cancelled, DiskReadError, error_info

TOO_SMALL = BudgetError(
    "Too small.",
    "Raise the memory budget, or choose a smaller context.",
    settings=("ram_budget_bytes", "context_tokens"),
)


def test_the_window_names_its_controls() -> None:
    assert next_step_with_places(TOO_SMALL.info) == (
        "Raise the memory budget, or choose a smaller context. See “Memory budget” on the inspector’s Budget "
        "page, and “Context” in the dialog that opens a model."
    )


def test_the_command_line_names_its_options() -> None:
    assert next_step_with_options(TOO_SMALL.info) == (
        "Raise the memory budget, or choose a smaller context (--ram, --ctx)."
    )


def test_other_faults_stay_as_they_are() -> None:
    info = DiskReadError("A read failed.", "Check the disk.").info
    assert next_step_with_places(info) == next_step_with_options(info) == "Check the disk."


def test_settings_cross_threads_and_processes() -> None:
    copy = pickle.loads(pickle.dumps(TOO_SMALL))
    assert copy.info == TOO_SMALL.info
    assert error_info(copy).settings == ("ram_budget_bytes", "context_tokens")
    assert pickle.loads(pickle.dumps(Cancelled())).info == Cancelled().info
