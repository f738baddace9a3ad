"""The models feature: choosing, loading, stopping a load, unloading, and telling the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.models.load_dialog import LoadDialog
from app.models.load_memory import LoadMemory
from app.models.load_panel import LoadPanel
from app.models.load_words import state_words
from app.models.recent_models import RecentModels
from app.models.start_page import StartPage
from engine.config import LoadSettings
from engine.errors import Cancelled, ErrorInfo
from engine.events import (
    EngineState,
    Event,
    LoadProgress,
    ModelAdjusted,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    StateChanged,
)
from engine.model_facts import ModelInfo


class ModelEngine(Protocol):
    """What this feature needs of the bridge; returns at once."""

    def load(self, settings: LoadSettings) -> int: ...

    def adjust(self, settings: LoadSettings) -> int: ...

    def unload(self) -> int: ...

    def cancel(self, request_id: int | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class PendingLoad:
    """A load that was asked for and has not ended."""

    request_id: int
    settings: LoadSettings
    name: str


class Models(QObject):
    """Owns the feature's widgets; the window places `panel` and `start_page`. GUI thread.

    `changed` says that state, model or loads differ; `loaded` carries ModelInfo; `failed` (a load) and
    `refused` (other settings) an ErrorInfo; `stopped` that the user stopped a load; `asking` a LoadDialog
    that was opened.
    """

    changed = Signal()
    loading = Signal()
    loaded = Signal(object)
    failed = Signal(object)
    refused = Signal(object)
    stopped = Signal()
    asking = Signal(object)

    def __init__(
        self,
        engine: ModelEngine,
        settings: QSettings,
        simulated: LoadSettings,
        demo: LoadSettings | None,
        profile_dir: Path | None = None,
        remote_devices: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """`simulated` loads the simulated model, `demo` the demo model if there is one.

        Every load keeps what it learns about the model in `profile_dir`. Files use all `remote_devices`, if
        nothing else was asked for them; the demo and the simulated model use none.
        """
        super().__init__()
        self.state = EngineState.EMPTY
        self.model: ModelInfo | None = None
        self.recent = RecentModels(settings)
        self.panel, self.start_page = LoadPanel(), StartPage(demo is not None)
        self._engine = engine
        self._simulated = simulated
        self._demo = demo
        self._profile_dir = profile_dir
        self._remote_devices = remote_devices
        self.local_devices: tuple[str, ...] = ()  # this machine's, once somebody has looked
        self._memory = LoadMemory(settings)
        self._pending: dict[int, PendingLoad] = {}
        self._adjusting: dict[int, LoadSettings] = {}
        self._last: LoadSettings | None = None
        self.panel.cancel_wanted.connect(self.cancel_load)
        self.start_page.open_wanted.connect(lambda: self.choose_file(self.start_page.window()))
        self.start_page.demo_wanted.connect(self.load_demo)
        self.start_page.simulation_wanted.connect(self.simulate)
        self.start_page.recent_chosen.connect(lambda path: self.load(self.asked_for(path)))
        self.start_page.show_recent(self.recent.all())

    # --- commands -----------------------------------------------------------------------------

    def choose_file(self, parent: QWidget) -> None:
        """Let the user pick a file, then its settings."""
        dialog = QFileDialog(
            parent, "Open a model", self._last_folder(), "GGUF models (*.gguf);;All files (*)"
        )
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self.ask_settings(Path(name), parent))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def ask_settings(self, path: Path, parent: QWidget) -> None:
        """Ask how to load a file, then load it."""
        dialog = LoadDialog(self.asked_for(path), self.known_devices, parent)
        self.asking.emit(dialog)
        dialog.accepted.connect(lambda: self.load(dialog.settings))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def ask_settings_again(self, parent: QWidget) -> None:
        """Load the same model with other settings."""
        if self._last is not None:
            self.ask_settings(self._last.path, parent)

    def load(self, settings: LoadSettings) -> None:
        """Load; a load in progress is stopped first."""
        self.cancel_load()
        settings = self.complete(settings)
        request_id = self._engine.load(settings)
        is_simulated = settings.path == self._simulated.path
        name = "a simulated model" if is_simulated else settings.path.name
        self._pending[request_id] = PendingLoad(request_id, settings, name)
        self.panel.begin(name)
        self.loading.emit()
        self.changed.emit()

    def adjust(self, settings: LoadSettings) -> None:
        """Let the loaded model go on with these settings, after the answer in the making."""
        settings = self.complete(settings)
        self._adjusting[self._engine.adjust(settings)] = settings
        self.changed.emit()

    def cancel_adjusting(self) -> None:
        """Leave the model as it is, if it hasn't taken over other settings yet."""
        for request_id in self._adjusting:
            self._engine.cancel(request_id)

    def complete(self, settings: LoadSettings) -> LoadSettings:
        """What is loaded when this is asked for: with a folder for what is learned, and the demo's few slots.

        A memory budget for the demo decides its slots instead.
        """
        settings = replace(settings, profile_dir=self._profile_dir)
        if self._demo is None or settings.path != self._demo.path:
            return settings
        slots = self._demo.slots_per_class if settings.ram_budget_bytes is None else None
        return replace(settings, slots_per_class=slots)

    def asked_for(self, path: Path) -> LoadSettings:
        """As this model was asked for last time."""
        return self._memory.over(self._usual(path), self._remote_devices())

    def _usual(self, path: Path) -> LoadSettings:
        """For a model that nothing was asked for yet."""
        for own in (self._simulated, self._demo):
            if own is not None and own.path == path:
                return own
        return LoadSettings(path, devices=self._remote_devices())

    def simulate(self) -> None:
        """Load the simulated model."""
        self.load(self.asked_for(self._simulated.path))

    def load_demo(self) -> None:
        """Load the demo model that comes with the program."""
        if self._demo is not None:
            self.load(self.asked_for(self._demo.path))

    def load_first(self) -> None:
        """At a start without a file: the demo model, until the user has opened one of their own."""
        if not self.recent.all():
            self.load_demo()

    def cancel_load(self) -> None:
        """Stop every load that runs or waits."""
        for request_id in self._pending:
            self._engine.cancel(request_id)

    def unload(self) -> None:
        """Free the model; a running answer ends first."""
        self._engine.cancel()
        self._engine.unload()

    # --- state --------------------------------------------------------------------------------

    @property
    def is_loading(self) -> bool:
        return bool(self._pending)

    @property
    def last(self) -> LoadSettings | None:
        """What was asked for the model that was loaded last, also after it was freed."""
        return self._last

    @property
    def adjusting(self) -> LoadSettings | None:
        """What the loaded model will go on with, while that is on its way."""
        return next(reversed(self._adjusting.values()), None)

    @property
    def known_devices(self) -> tuple[str, ...]:
        """What a load can be given: other machines that were set up, and devices of this one."""
        return (*self._remote_devices(), *self.local_devices)

    @property
    def can_reload(self) -> bool:
        """Whether the loaded model can be loaded with other settings."""
        return self.model is not None and self._last is not None and self._last.path != self._simulated.path

    @property
    def line(self) -> str:
        """The state in one line."""
        state = EngineState.LOADING if self._pending else self.state
        name = next(reversed(self._pending.values())).name if self._pending else "a model"
        return state_words(state, self.model, name)

    def apply(self, events: Sequence[Event]) -> None:
        """Take the engine's events in order."""
        is_changed = False
        for event in events:
            is_changed |= self._take(event)
        if is_changed:
            self.changed.emit()

    def _take(self, event: Event) -> bool:
        match event:
            case LoadProgress():
                if event.request_id == next(reversed(self._pending), 0):
                    self.panel.show_progress(event)
                return False
            case StateChanged():
                self.state = event.state
            case ModelUnloaded():
                self.model = None
            case ModelLoaded():
                self._take_model(event)
            case ModelAdjusted():
                self._take_adjustment(event)
            case RequestFailed():
                self._take_failure(event)
            case _:
                return False
        return True

    def _take_model(self, event: ModelLoaded) -> None:
        self.model = event.info
        pending = self._end_load(event.request_id)
        if pending is not None:
            self._remember(pending.settings)
        self.loaded.emit(event.info)

    def _take_adjustment(self, event: ModelAdjusted) -> None:
        self.model = event.info
        settings = self._adjusting.pop(event.request_id, None)
        if settings is not None:
            self._remember(settings)

    def _remember(self, asked: LoadSettings) -> None:
        self._last = asked
        usual = self._usual(asked.path)
        self._memory.keep(asked, usual.devices)
        if usual not in (self._simulated, self._demo):
            self.recent.remember(asked.path)
            self.start_page.show_recent(self.recent.all())

    def _take_failure(self, event: RequestFailed) -> None:
        if self._adjusting.pop(event.request_id, None) is not None:
            if event.error.kind != Cancelled.__name__:
                self.refused.emit(event.error)
            return
        pending = self._end_load(event.request_id)
        if pending is None:
            if event.request_id == 0:  # nobody asked: the model that was loaded is lost
                self.failed.emit(event.error)
            return
        if event.error.kind == Cancelled.__name__:
            self.stopped.emit()
            return
        if event.error.kind == "ModelFileError" and not pending.settings.path.exists():
            self.recent.forget(pending.settings.path)
            self.start_page.show_recent(self.recent.all())
        self.failed.emit(event.error)

    def _end_load(self, request_id: int) -> PendingLoad | None:
        pending = self._pending.pop(request_id, None)
        if not self._pending:
            self.panel.hide()
        return pending

    def _last_folder(self) -> str:
        recent = self.recent.all()
        return str(recent[0].parent) if recent else ""


def load_title(error: ErrorInfo) -> str:
    """Title of the dialog for a load that failed, or a model that was lost."""
    if error.kind == "DeviceLostError":
        return "A device is gone"
    return "Not enough memory" if error.kind == "BudgetError" else "The model can’t be loaded"
