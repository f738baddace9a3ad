"""Conversations to and from files the user chooses: export, import, backup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QSaveFile, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.chat.thinking import without_thinking
from app.history.backup_import import import_backup, is_backup
from app.history.errors import HistoryError, HistoryFileError
from app.history.export import export_html, export_json, export_markdown
from app.history.importing import import_json
from app.history.store import HistoryStore

_JSON, _ALL = "JSON (*.json)", "All files (*)"
_IMPORTS = "Exports and backups (*.json *.sqlite3)"
_FORBIDDEN = frozenset('<>:"/\\|?*')
_MOST_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class ExportKind:
    """A form a single conversation can be written in."""

    words: str
    suffix: str
    write: Callable[[HistoryStore, int], str]


EXPORT_KINDS = (
    # pages to read hold what was said; JSON, to come back, holds the thinking too
    ExportKind("Markdown", ".md", lambda store, number: export_markdown(store, number, without_thinking)),
    ExportKind("HTML page", ".html", lambda store, number: export_html(store, number, without_thinking)),
    ExportKind("JSON", ".json", lambda store, number: export_json(store, [number])),
)


class HistoryFiles(QObject):
    """Asks for files; `done` says in words how it went, `imported` carries new ids, `fault` a HistoryError.

    GUI thread; writing a few thousand messages takes well under a second.
    """

    done = Signal(str)
    imported = Signal(object)
    fault = Signal(object)

    def __init__(self, store: HistoryStore, parent: QWidget) -> None:
        super().__init__(parent)
        self._store, self._window = store, parent

    # --- asking -------------------------------------------------------------------------------

    def ask_export_one(self, conversation_id: int, title: str, kind: ExportKind) -> None:
        """Write one conversation."""
        name = file_name(title) + kind.suffix
        self._ask_save(
            f"Export as {kind.words}",
            name,
            f"{kind.words} (*{kind.suffix})",
            lambda path: self.export_one(conversation_id, kind, path),
        )

    def ask_export_all(self) -> None:
        self._ask_save("Export all conversations", "emberglass-conversations.json", _JSON, self.export_all)

    def ask_back_up(self) -> None:
        self._ask_save(
            "Back up all conversations", "emberglass-backup.sqlite3", "Backup (*.sqlite3)", self.back_up
        )

    def ask_import(self) -> None:
        dialog = QFileDialog(self._window, "Import conversations", "", f"{_IMPORTS};;{_ALL}")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._open(dialog, self.import_from)

    def _ask_save(self, title: str, name: str, names: str, then: Callable[[Path], None]) -> None:
        dialog = QFileDialog(self._window, title, "", f"{names};;{_ALL}")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(Path(name).suffix)
        dialog.selectFile(name)
        self._open(dialog, then)

    @staticmethod
    def _open(dialog: QFileDialog, then: Callable[[Path], None]) -> None:
        dialog.fileSelected.connect(lambda name: then(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    # --- doing --------------------------------------------------------------------------------

    def export_one(self, conversation_id: int, kind: ExportKind, path: Path) -> None:
        self._do(lambda: write_whole(path, kind.write(self._store, conversation_id)), f"Exported to {path}.")

    def export_all(self, path: Path) -> None:
        self._do(lambda: write_whole(path, export_json(self._store, None)), f"Exported to {path}.")

    def back_up(self, path: Path) -> None:
        self._do(lambda: self._store.backup_to(path), f"Backed up to {path}.")

    def import_from(self, path: Path) -> None:
        try:
            numbers = self._imported(path)
        except HistoryError as error:
            self.fault.emit(error)
            return
        count = len(numbers)
        self.imported.emit(numbers)
        self.done.emit(f"Imported {count} conversation{'' if count == 1 else 's'} from {path.name}.")

    def _imported(self, path: Path) -> list[int]:
        try:
            if is_backup(path):
                return import_backup(self._store, path)
        except OSError as error:
            raise _unreadable(path, error) from error
        return import_json(self._store, read_whole(path))

    def _do(self, call: Callable[[], object], words: str) -> None:
        try:
            call()
        except HistoryError as error:
            self.fault.emit(error)
        else:
            self.done.emit(words)


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing: an older file of that name stays if writing fails. Raises HistoryFileError."""
    file = QSaveFile(str(path))
    data = text.encode("utf-8", "replace")
    is_written = (
        file.open(QSaveFile.OpenModeFlag.WriteOnly) and file.write(data) == len(data) and file.commit()
    )
    if not is_written:
        raise HistoryFileError(
            f"{path} can’t be written.",
            "Check that you may write into its folder and that the drive has room, or choose another folder.",
            file.errorString(),
        )


def read_whole(path: Path) -> str:
    """Text of a file, with or without a byte order mark. Raises HistoryFileError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise HistoryFileError(
            f"{path.name} is not a text file in UTF-8.",
            "Choose a JSON file that Emberglass has exported.",
            str(error),
        ) from error


def _unreadable(path: Path, error: OSError) -> HistoryFileError:
    return HistoryFileError(
        f"{path} can’t be read ({error.strerror or error}).", "Choose another file.", repr(error)
    )


def file_name(title: str) -> str:
    """A name for a file on any system, from a title."""
    kept = "".join(" " if each in _FORBIDDEN or not each.isprintable() else each for each in title)
    return " ".join(kept.split())[:_MOST_NAME_CHARACTERS].strip(" .") or "conversation"
