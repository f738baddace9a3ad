"""A device that disappears in mid-answer: words in the chat, the text kept, and a way back."""

from __future__ import annotations

from collections.abc import Sequence

from app.inspector.budget_panel import BudgetPanel
from engine.backends.base import CancelToken, InferenceBackend
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.errors import DeviceLostError
from tests.support.running_window import ANSWER, OpenWindow


class LosingBackend(FakeBackend):
    """Loses its device once, at the fifth decoded token."""

    def __init__(self, script: FakeScript) -> None:
        super().__init__(script)
        self._left = 5

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        self._left -= not is_prefill
        if not is_prefill and self._left == 0:
            raise DeviceLostError("The device “rpc:box:1” is gone.", "Load the model again.")
        super().evaluate(tokens, position, is_prefill, cancel)


def _losing() -> InferenceBackend:
    return LosingBackend(
        FakeScript(
            answers=(),
            default_answer=ANSWER,
            load_seconds=0.0,
            initialise_seconds=0.0,
            prefill_token_seconds=0.0,
            decode_token_seconds=0.0,
            disk_bytes_per_second=1e15,
        )
    )


def test_a_lost_device_is_told_and_the_same_values_can_be_loaded_again(open_window: OpenWindow) -> None:
    scene = open_window(_losing)
    scene.load()
    inspector = scene.window.inspector
    inspector._tabs.setCurrentIndex(inspector._tabs.count() - 1)
    scene.say("Hello")
    scene.until_idle()
    (_, said, status) = scene.statuses()[-1]
    assert status == "failed"
    assert said
    assert ANSWER.startswith(said)
    assert "Failed: The device “rpc:box:1” is gone. Load the model again." in scene.transcript
    panel: BudgetPanel = inspector.budget
    scene.until(lambda: panel.reload.isEnabled() and panel.reload.text() == "Load")
    panel.reload.click()
    scene.until(lambda: scene.window.models.model is not None and not scene.window.models.is_loading)
    scene.say("And now?")
    scene.until_idle()
    assert scene.statuses()[-1] == ("assistant", ANSWER, "complete")
