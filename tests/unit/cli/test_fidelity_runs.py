"""`fidelity` refuses what it can't compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backends.base import CancelToken, LoadReport, LoadResult
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.cli.fidelity_runs import FidelityTask, measure_fidelity
from engine.config import LoadSettings
from engine.errors import UsageError


class _Dense(FakeBackend):
    """A simulated model without experts."""

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        result = super().load(settings, report, cancel)
        return replace(result, info=replace(result.info, name="Plain", moe_layers=()))


def test_a_model_without_experts_is_refused(tmp_path: Path) -> None:
    task = FidelityTask(LoadSettings(tmp_path / "x.gguf"), "some text", 8, 0, (1,), 0.7)
    script = FakeScript(load_seconds=0, initialise_seconds=0)
    with pytest.raises(UsageError, match="Plain has no experts"):
        measure_fidelity(task, (20,), lambda: _Dense(script), lambda _: None)
