"""What stands in the menu bar, and what each entry calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence

from app.chat.chat import Chat
from app.chat.find_bar import FindBar
from app.history_files import HistoryFiles
from app.models.models import Models
from app.recording_files import RecordingFiles
from app.window_actions import ActionSpec

_Key = QKeySequence.StandardKey
_Entries = list[ActionSpec | None]
Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class WindowCalls:
    """What only the window itself can do."""

    close: Call
    choose_file: Call
    ask_settings_again: Call
    show_settings: Call
    search: Call
    find: Call
    stop: Call
    next_panel: Call
    show_palette: Call
    show_shortcuts: Call
    show_model: Call
    show_about: Call


def file_entries(calls: WindowCalls, models: Models, files: HistoryFiles) -> _Entries:
    return [
        ActionSpec("&Open a model…", calls.choose_file, _Key.Open),
        ActionSpec("Load with other &settings…", calls.ask_settings_again),
        ActionSpec("&Unload the model", models.unload, "Ctrl+E"),
        ActionSpec("Si&mulated run", models.simulate),
        None,
        ActionSpec("&Export all conversations…", files.ask_export_all),
        ActionSpec("&Import conversations…", files.ask_import),
        ActionSpec("&Back up all conversations…", files.ask_back_up),
        None,
        ActionSpec("Se&ttings…", calls.show_settings, "Ctrl+,", QAction.MenuRole.PreferencesRole),
        ActionSpec("&Quit", calls.close, "Ctrl+Q", QAction.MenuRole.QuitRole),
    ]


def chat_entries(calls: WindowCalls, chat: Chat, find_bar: FindBar) -> _Entries:
    view = chat.view
    return [
        ActionSpec("&New conversation", chat.begin_new, _Key.New),
        ActionSpec("S&earch conversations", calls.search, "Ctrl+Shift+F"),
        ActionSpec("&Find in this conversation", calls.find, _Key.Find),
        ActionSpec("Find ne&xt", find_bar.find_next, "F3"),
        ActionSpec("Find pre&vious", find_bar.find_previous, "Shift+F3"),
        None,
        ActionSpec("&Stop", calls.stop, "Esc"),
        ActionSpec("Answer &again", view.answer_again, "Ctrl+R"),
        ActionSpec("C&ontinue the last answer", view.message_actions.continue_answer, "Ctrl+Shift+R"),
        ActionSpec("Edit yo&ur last message", view.message_actions.edit, "Ctrl+Shift+E"),
        ActionSpec("&Copy the last answer", view.copy_last_answer, "Ctrl+Shift+C"),
        ActionSpec("&Details of the last answer", view.message_actions.show_details, "Ctrl+I"),
        None,
        ActionSpec("Write a &message", view.composer.setFocus, "Ctrl+L"),
        ActionSpec("&Jump to the latest text", view.transcript.jump_to_end, "Ctrl+End"),
    ]


def view_entries(calls: WindowCalls) -> _Entries:
    return [
        None,
        ActionSpec("&Go to the next panel", calls.next_panel, "F6"),
        ActionSpec("Command &palette…", calls.show_palette, "Ctrl+Shift+P"),
    ]


def inspector_entries(recordings: RecordingFiles) -> _Entries:
    return [
        ActionSpec("&Record this run…", recordings.ask_record),
        ActionSpec("&Stop recording", recordings.stop),
        ActionSpec("&Open a recording…", recordings.ask_open),
        ActionSpec("Co&mpare with a recording…", recordings.ask_compare),
        None,
        ActionSpec("Export figures as &CSV…", recordings.ask_export_csv),
        ActionSpec("Export for &Perfetto (Chrome trace)…", recordings.ask_export_trace),
        ActionSpec("Save a p&icture…", recordings.ask_export_picture),
    ]


def help_entries(calls: WindowCalls) -> _Entries:
    return [
        ActionSpec("&Keyboard shortcuts", calls.show_shortcuts, "F1"),
        ActionSpec("&About the loaded model", calls.show_model),
        ActionSpec("About &Emberglass", calls.show_about, None, QAction.MenuRole.AboutRole),
    ]
