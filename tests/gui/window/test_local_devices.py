"""What the forecast's thread finds out about this machine's devices is offered from then on."""

from __future__ import annotations

from pathlib import Path

from engine.config import LoadSettings
from tests.support.running_window import OpenWindow


def test_devices_that_were_found_are_offered_but_not_chosen(open_window: OpenWindow, tmp_path: Path) -> None:
    scene = open_window()
    window, path = scene.window, tmp_path / "a.gguf"
    window.devices.add("rpc:localhost:1")
    window.budgets.devices_found.emit(("CUDA0",))
    window.models.load(window.models.asked_for(path))
    scene.until(lambda: window.models.model is not None)
    inspector = window.inspector
    inspector._tabs.setCurrentIndex(inspector._tabs.count() - 1)
    fields = inspector.budget.fields
    assert fields is not None
    boxes = {name: box.isChecked() for name, box in fields.devices.boxes.items()}
    assert boxes == {"rpc:localhost:1": True, "CUDA0": False}
    window.models.load(LoadSettings(path, devices=("CUDA0",)))
    scene.until(lambda: not window.models.is_loading)
    window.devices.remove("rpc:localhost:1")
    assert window.models.asked_for(path).devices == ("CUDA0",)


def test_a_forecast_of_a_file_looks_for_devices_once(open_window: OpenWindow, tmp_path: Path) -> None:
    scene = open_window()
    found: list[tuple[str, ...]] = []
    scene.window.budgets.devices_found.connect(found.append)
    answers: list[object] = []
    scene.window.budgets.answered.connect(answers.append)
    for _ in range(2):
        scene.window.budgets.ask_for(LoadSettings(tmp_path / "gone.gguf"))
    scene.until(lambda: len(answers) == 2)
    scene.window.budgets.close()
    scene.until(lambda: len(found) == 1)
    assert all(isinstance(name, str) for name in found[0])
