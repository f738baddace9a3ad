"""Recordings of runs, and figures of the inspector, to and from files the user chooses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QWidget

from app.history.errors import HistoryFileError
from app.history_files import write_whole
from app.inspector.chrome_trace import chrome_trace_text
from app.inspector.figure_exports import csv_text
from app.inspector.inspector_dock import InspectorDock
from app.playback import Playback
from app.telemetry_store import TelemetryStore
from engine.errors import TraceFileError
from engine.events import CountersSampled, Event, GenerationFinished, ModelLoaded, StateChanged
from engine.telemetry.trace_file import SUFFIX, TraceWriter

_RECORDINGS = f"Recordings (*{SUFFIX})"
_ALL = "All files (*)"


class RecordingFiles(QObject):
    """`done` says in words how it went, `fault` carries what failed, `changed` when recording began or ended.

    GUI thread. While it records, each batch of events takes a few milliseconds.
    """

    done = Signal(str)
    fault = Signal(object)
    changed = Signal()

    def __init__(self, live: TelemetryStore, dock: InspectorDock, parent: QWidget) -> None:
        super().__init__(parent)
        self._live, self._dock, self._window = live, dock, parent
        self._writer: TraceWriter | None = None

    @property
    def is_recording(self) -> bool:
        return self._writer is not None

    def show_state(self, actions: dict[str, QAction]) -> None:
        """Enable the entries that can do something now."""
        actions["Record this run"].setEnabled(not self.is_recording)
        actions["Stop recording"].setEnabled(self.is_recording)

    # --- asking -------------------------------------------------------------------------------

    def ask_record(self) -> None:
        self._ask_save("Record this run", f"run{SUFFIX}", _RECORDINGS, self.record)

    def ask_open(self) -> None:
        self._ask_file("Open a recording", self.open_recording)

    def ask_compare(self) -> None:
        self._ask_file("Compare with a recording", self.compare_with)

    def ask_export_csv(self) -> None:
        self._ask_save("Export figures as CSV", "figures.csv", "CSV (*.csv)", self.export_csv)

    def ask_export_trace(self) -> None:
        self._ask_save(
            "Export for Perfetto", "figures.json", "Chrome trace (*.json)", self.export_chrome_trace
        )

    def ask_export_picture(self) -> None:
        self._ask_save("Save a picture of the inspector", "inspector.png", "PNG (*.png)", self.export_picture)

    def _ask_file(self, title: str, then: Callable[[Path], None]) -> None:
        dialog = QFileDialog(self._window, title, "", f"{_RECORDINGS};;{_ALL}")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        _open(dialog, then)

    def _ask_save(self, title: str, name: str, names: str, then: Callable[[Path], None]) -> None:
        dialog = QFileDialog(self._window, title, "", f"{names};;{_ALL}")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(Path(name).suffix)
        dialog.selectFile(name)
        _open(dialog, then)

    # --- recording ----------------------------------------------------------------------------

    def record(self, path: Path) -> None:
        """Begin with what is known now, so that a recording can start while a model is loaded."""
        self.stop()
        self._do(lambda: self._begin(path))

    def _begin(self, path: Path) -> None:
        self._writer = TraceWriter(path)
        self._writer.write(opening_events(self._live))
        self.changed.emit()
        self.done.emit(f"Recording to {path.name}: figures and events, no text of any conversation.")

    def apply(self, events: Sequence[Event]) -> None:
        """Take what the engine reported; a fault ends the recording and keeps what is written."""
        if self._writer is not None and not self._do(lambda: self._write(events)):
            self.stop()

    def _write(self, events: Sequence[Event]) -> None:
        if self._writer is not None:
            self._writer.write([self._with_first_paint(event) for event in events])

    def _with_first_paint(self, event: Event) -> Event:
        """What the engine can't know; the window has shown the first text before the answer's end is here."""
        if not isinstance(event, GenerationFinished):
            return event
        ttft = self._live.with_first_paint(event.request_id, event.ttft)
        return dataclasses.replace(event, ttft=ttft)

    def stop(self) -> None:
        """End the recording, if there is one."""
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        writer.close()
        self.changed.emit()
        self.done.emit(f"Recorded {writer.events:,} events to {writer.path}.")

    def open_recording(self, path: Path) -> None:
        """Show a recording in the inspector."""
        self._show(lambda: self._dock.show_recording(Playback(path)))

    def compare_with(self, path: Path) -> None:
        """Put the figures of a recording beside those shown."""
        self._show(lambda: self._dock.compare_with(Playback(path)))

    def _show(self, call: Callable[[], None]) -> None:
        if self._do(call):
            self._dock.setVisible(True)
            self._dock.raise_()

    # --- exports ------------------------------------------------------------------------------

    def export_csv(self, path: Path) -> None:
        self._export(path, lambda: write_whole(path, csv_text(self._dock.store)))

    def export_chrome_trace(self, path: Path) -> None:
        self._export(path, lambda: write_whole(path, chrome_trace_text(self._dock.store)))

    def export_picture(self, path: Path) -> None:
        self._export(path, lambda: _save_picture(self._dock, path))

    def _export(self, path: Path, write: Callable[[], None]) -> None:
        if self._do(write):
            self.done.emit(f"Exported to {path}.")

    def _do(self, call: Callable[[], None]) -> bool:
        """Whether it went well."""
        try:
            call()
        except (TraceFileError, HistoryFileError) as error:
            self.fault.emit(error)
            return False
        return True


def opening_events(store: TelemetryStore) -> list[Event]:
    """What a recording must begin with to be understood on its own."""
    t_ns = store.newest_ns
    if store.model is None:
        return [StateChanged(t_ns=t_ns, state=store.state)]
    events: list[Event] = [
        ModelLoaded(t_ns=t_ns, info=store.model, load_ns=0, initialise_ns=0),
        StateChanged(t_ns=t_ns, state=store.state),
    ]
    if store.counters is not None:
        events.append(CountersSampled(t_ns=t_ns, counters=store.counters))
    if store.experts is not None:
        events.append(dataclasses.replace(store.experts.sample, t_ns=t_ns))
    return events


def _save_picture(dock: InspectorDock, path: Path) -> None:
    if not dock.widget().grab().save(str(path), "PNG"):
        raise HistoryFileError(
            f"{path} can’t be written.",
            "Check that you may write into its folder and that the drive has room, or choose another folder.",
        )


def _open(dialog: QFileDialog, then: Callable[[Path], None]) -> None:
    dialog.fileSelected.connect(lambda name: then(Path(name)))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
