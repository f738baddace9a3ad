"""Puts the program together: data folder, log, engine, conversations, window; and takes it apart."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import platformdirs
from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.arguments import Arguments
from app.chosen_backend import SIMULATED_PATH, ChosenBackend
from app.crash_log import CrashLog, log
from app.engine_bridge import EngineBridge
from app.fault_dialog import fault_box
from app.gui_collector import GuiCollector
from app.history.errors import HistoryBusyError, HistoryError
from app.history.store import HistoryStore
from app.main_window import MainWindow, Surroundings
from app.quit_signals import QuitSignals
from app.second_start import FirstStart, hand_over
from app.theme import Theme
from app.version import program_version
from app.window_memory import WindowMemory
from engine.backends.base import InferenceBackend
from engine.backends.fake import FakeBackend
from engine.config import LoadSettings, SamplingSettings
from engine.demo_model import DEMO_PATH, demo_settings
from engine.errors import ErrorInfo
from engine.service import Engine
from engine.telemetry.last_words import explain, take_last_words

_ENGINE_PATIENCE_SECONDS = 1.5


def run(arguments: Arguments) -> int:
    """Open the window and return the exit code when it is closed."""
    application = new_application()
    data_dir = (arguments.data_dir or platformdirs.user_data_path("emberglass", appauthor=False)).absolute()
    windows: list[MainWindow] = []
    try:
        crash_log = CrashLog(
            data_dir / "logs", arguments.log_level, lambda words: _show_crash(windows, words)
        )
    except OSError as error:
        print(f"The data folder {data_dir} can't be written: {error}.", file=sys.stderr)  # noqa: T201 - no log yet
        return 1
    crash_log.install()
    try:
        return _run_with_store(application, arguments, data_dir, windows)
    finally:
        crash_log.close()


def new_application() -> QApplication:
    """The QApplication with the program's name on it."""
    policy = Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(policy)
    application = QApplication(sys.argv[:1])
    application.setApplicationName("emberglass")
    application.setApplicationDisplayName("Emberglass")
    application.setApplicationVersion(program_version())
    application.setDesktopFileName("emberglass")
    return application


def _run_with_store(
    application: QApplication, arguments: Arguments, data_dir: Path, windows: list[MainWindow]
) -> int:
    settings = QSettings(str(data_dir / "window.ini"), QSettings.Format.IniFormat)
    theme = Theme(application)
    WindowMemory(settings).restore_look(theme)
    try:
        store = HistoryStore(data_dir / "conversations.sqlite3")
    except HistoryBusyError as error:
        if hand_over(data_dir, arguments.model):
            log.info("handed over to the window that has the folder open")
            return 0
        return _refuse(error)
    except HistoryError as error:
        return _refuse(error)
    surroundings = Surroundings(
        data_dir,
        settings,
        LoadSettings(SIMULATED_PATH),
        demo_settings() if DEMO_PATH.exists() else None,
        arguments.is_simulated,
    )
    first = FirstStart(data_dir)
    last_words = data_dir / "logs" / "last_words.json"
    end = take_last_words(last_words)
    bridge = EngineBridge(Engine(backend_factory(arguments.is_simulated, last_words)))
    try:
        window = MainWindow(bridge, store, theme, surroundings)
        windows.append(window)
        if end is not None:
            _tell_end(window, explain(end), store.opening_note)
        first.started_again.connect(window.come_forward)
        return _show(application, window, arguments)
    finally:
        first.close()
        started = time.monotonic()
        is_closed = bridge.close(_ENGINE_PATIENCE_SECONDS)
        store.close()
        settings.sync()
        log.info("closed in %.2f s", time.monotonic() - started)
        if not is_closed:
            # native code that doesn't come back must not keep the process; everything is saved
            log.error("the engine did not stop in time")
            os._exit(1)


def _refuse(error: HistoryError) -> int:
    log.error("conversations can't be opened: %s", error)
    fault_box(error, "Emberglass can’t start").exec()
    return 1


def _tell_end(window: MainWindow, end: ErrorInfo, opening_note: str) -> None:
    """The last run didn't end as it should: say why, beside what that did to the conversations."""
    log.error("llama.cpp ended the last run: %s", end.detail)
    window.notice.show_notice(f"{end} {opening_note}".strip())


def backend_factory(is_simulated: bool, last_words: Path | None = None) -> Callable[[], InferenceBackend]:
    """What the engine thread calls at the first load; `last_words`: see telemetry.last_words."""
    return (
        FakeBackend if is_simulated else lambda: ChosenBackend(lambda: _real_backend(last_words), FakeBackend)
    )


def _real_backend(last_words: Path | None) -> InferenceBackend:
    from engine.backends.llama_cpp import LlamaCppBackend  # noqa: PLC0415 - loads native code, takes a second

    return LlamaCppBackend(last_words)


def _show(application: QApplication, window: MainWindow, arguments: Arguments) -> int:
    codes: list[int] = []

    def quit_with(code: int) -> None:
        codes.append(code)
        window.close()
        application.quit()

    signals = QuitSignals(quit_with)
    window.finished.connect(application.quit)
    window.show()
    collector = GuiCollector(lambda: window.chat.answering.is_busy)
    QTimer.singleShot(0, lambda: _load_at_start(window, arguments))
    code = application.exec()
    collector.close()
    signals.close()
    return codes[0] if codes else code


def _load_at_start(window: MainWindow, arguments: Arguments) -> None:
    if arguments.temperature is not None:
        window.chat.answering.sampling = SamplingSettings(temperature=arguments.temperature)
    if arguments.model is None and not arguments.is_simulated:
        window.models.load_first()
        return
    path = SIMULATED_PATH if arguments.model is None else arguments.model.absolute()
    asked = window.models.asked_for(path)
    window.models.load(
        replace(
            asked,
            ram_budget_bytes=arguments.ram_budget_bytes or asked.ram_budget_bytes,
            context_tokens=arguments.context_tokens or asked.context_tokens,
        )
    )


def _show_crash(windows: list[MainWindow], words: str) -> None:
    """From any thread: Qt hands the call to the window's own."""
    error = ErrorInfo(
        "InternalError",
        "Something went wrong inside Emberglass.",
        "You can go on; if it behaves oddly, restart it. The log file in the data folder says more.",
        words,
    )
    for window in windows:
        QTimer.singleShot(0, window, lambda shown=window: shown.report_error(error, "Internal fault"))
