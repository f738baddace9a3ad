"""Settings as the window opens them, and what they do to the conversations."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyqtgraph import AxisItem
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QPalette
from PySide6.QtWidgets import QDialog, QGraphicsView, QLineEdit, QPushButton, QTextEdit

from app.command_palette import CommandPalette
from app.history.records import ChatSettings
from app.history_files import EXPORT_KINDS, file_name
from app.menu_entries import menu_entries
from app.settings.appearance_page import AppearancePage
from app.settings.conversation_settings import ConversationSettings
from app.settings.data_page import DataPage
from app.settings.devices_page import DevicesPage
from app.settings.settings_dialog import SettingsDialog
from app.shortcut_sheet import ShortcutSheet
from app.theme import Scheme
from engine.config import LoadSettings
from tests.support.running_window import OpenWindow, RunningWindow, quick_backend

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def scene(open_window: OpenWindow) -> RunningWindow:
    return open_window()


def settings(scene: RunningWindow) -> SettingsDialog:
    scene.press(Qt.Key.Key_Comma, CTRL)
    dialog = scene.window.findChild(SettingsDialog)
    assert isinstance(dialog, SettingsDialog)
    return dialog


def conversation_settings(scene: RunningWindow) -> ConversationSettings:
    button = next(b for b in scene.window.header.findChildren(QPushButton) if b.text() == "Settings…")
    scene.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    dialog = scene.window.findChildren(ConversationSettings)[-1]
    assert isinstance(dialog, ConversationSettings)
    return dialog


def begin(scene: RunningWindow, text: str) -> int:
    scene.window.chat.begin_new()
    scene.say(text)
    return next(each.id for each in scene.store.conversations() if each.title == text)


def test_pages_are_made_when_they_are_looked_at(scene: RunningWindow) -> None:
    dialog = settings(scene)
    assert dialog.findChildren(AppearancePage) == []
    for number, kind in enumerate((AppearancePage, DevicesPage, DataPage), start=1):
        dialog.pages.setCurrentIndex(number)
        (page,) = dialog.findChildren(kind)
        assert page.isVisible()
        dialog.pages.setCurrentIndex(0)
        dialog.pages.setCurrentIndex(number)
        assert dialog.findChildren(kind) == [page]


def test_colours_and_size_change_at_once_and_both_ways(scene: RunningWindow) -> None:
    page = settings(scene).appearance
    page.schemes[Scheme.DARK].click()
    assert scene.window._menus.actions["Dark"].isChecked()
    transcript = scene.window.chat.view.transcript
    scene.until(lambda: transcript.palette().color(QPalette.ColorRole.Base).lightness() < 80)
    scene.window._menus.actions["Light"].trigger()
    assert page.schemes[Scheme.LIGHT].isChecked()
    page.sizes.setCurrentIndex(page.sizes.findData(200))
    page.sizes.activated.emit(page.sizes.currentIndex())
    assert scene.theme.text_percent == 200
    scene.window._menus.actions["Normal text size"].trigger()
    assert page.sizes.currentData() == 100
    assert str(scene.settings.value("look/scheme")) == "light"


def code_points(scene: RunningWindow) -> list[float]:
    """Sizes of the text set in a fixed font."""
    found, block = [], scene.window.chat.view.transcript.document().begin()
    while block.isValid():
        for each in block.textFormats():
            families = each.format.fontFamilies() or []
            if any("mono" in name.casefold() for name in families):
                found.append(each.format.font().pointSizeF())
        block = block.next()
    return found


def plot_points(scene: RunningWindow) -> list[float]:
    """Sizes of the figures at the axes of every plot."""
    plots = [item for each in scene.window.inspector.findChildren(QGraphicsView)
             for item in each.items() if isinstance(item, AxisItem)]  # fmt: skip
    return [axis.style["tickFont"].pointSizeF() for axis in plots if axis.style["tickFont"] is not None]


def test_text_size_reaches_code_and_plots(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(default_answer="Text\n\n```python\nx = 1\n```\n"))
    scene.load()
    scene.say("Code, please")
    scene.until_idle()
    scene.until(lambda: bool(code_points(scene) and plot_points(scene)))
    code, plots = max(code_points(scene)), max(plot_points(scene))
    scene.theme.set_text_percent(200)
    scene.until(lambda: max(code_points(scene)) == pytest.approx(code * 2, rel=0.03))
    scene.until(lambda: max(plot_points(scene)) == pytest.approx(plots * 2, rel=0.03))
    scene.theme.set_text_percent(100)


def test_folders_are_shown_and_opened(scene: RunningWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    data = settings(scene).data
    folder = scene.window._surroundings.data_dir
    for button in data.findChildren(QPushButton):
        if button.text() == "Open folder":
            button.click()
    assert [Path(each) for each in opened] == [folder, folder / "logs"]


def test_a_change_in_a_dialog_survives_quitting(open_window: OpenWindow) -> None:
    scene = open_window()
    number = begin(scene, "Talk")
    conversation_settings(scene).form.numbers["temperature"].setValue(1.25)
    scene.close()
    assert open_window().store.settings_of(number) == ChatSettings(temperature=1.25)


def test_the_header_says_what_differs(scene: RunningWindow) -> None:
    begin(scene, "Talk")
    assert scene.window.header.words == ("Talk", "")
    dialog = conversation_settings(scene)
    dialog.form.numbers["temperature"].setValue(1.25)
    dialog.form.prompt.setPlainText("Rhyme.")
    dialog.close()
    assert scene.window.header.words == ("Talk", "● 2 changed")


def test_new_conversations_begin_with_the_default_preset(scene: RunningWindow) -> None:
    preset = scene.store.save_preset("Brief", ChatSettings("Be brief."))
    scene.window.choices.set_default_preset_id(preset.id)
    assert scene.window.header.words[1] == "Brief"
    number = begin(scene, "Talk")
    assert scene.store.preset_of(number) == preset


def test_settings_of_a_conversation_that_is_not_begun_apply_to_it_alone(scene: RunningWindow) -> None:
    scene.window.chat.begin_new()
    dialog = conversation_settings(scene)
    dialog.form.numbers["seed"].setValue(7)
    dialog.close()
    assert scene.window.header.words == ("New conversation", "● 1 changed")
    assert [each.seed for each in scene.window.chat.view.pending_levels()] == [7]
    first, second = begin(scene, "First"), begin(scene, "Second")
    assert scene.store.settings_of(first) == ChatSettings(seed=7)
    assert scene.store.settings_of(second) == ChatSettings()


def test_ctrl_enter_sends_once_it_is_chosen(scene: RunningWindow) -> None:
    scene.window.chat.begin_new()
    dialog = settings(scene)
    dialog.chat.ctrl_enter.click()
    dialog.close()
    composer = scene.window.chat.view.composer
    assert "Ctrl+Enter" in composer.placeholderText()
    scene.say("a")
    assert composer.toPlainText() == "\na" or composer.toPlainText() == "a\n"
    scene.qtbot.keyClick(composer, Qt.Key.Key_Return, CTRL)
    assert [text.strip() for _, text, _ in scene.statuses()] == ["a"]


def test_every_menu_entry_has_its_line_in_the_sheet_if_it_has_keys(scene: RunningWindow) -> None:
    scene.press(Qt.Key.Key_F1)
    sheet = scene.window.findChild(ShortcutSheet)
    text = sheet.findChild(QTextEdit).toPlainText()
    entries = [each for each in menu_entries(scene.window.menuBar()) if each.keys]
    assert len(entries) > 20
    assert [each.text for each in entries if each.text not in text or each.keys not in text] == []
    assert "Send the message\nEnter" in text


def test_the_palette_finds_menus_conversations_and_models(
    scene: RunningWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(scene, "東京の旅")
    begin(scene, "Another")
    scene.window.models.recent.remember(tmp_path / "big-moe.gguf")
    scene.press(Qt.Key.Key_P, CTRL | SHIFT)
    palette = scene.window.findChild(CommandPalette)
    texts = palette.texts()
    for text in ("Open a model", "Dark", "Rename", "東京の旅", "big-moe.gguf", "As Markdown"):
        assert text in texts
    assert "Command palette" not in texts
    assert "Unload the model" not in texts
    field = palette.findChild(QLineEdit)
    scene.until(field.hasFocus)
    field.setText("東京")
    scene.qtbot.keyClick(field, Qt.Key.Key_Return)
    scene.until(lambda: scene.window.header.words[0] == "東京の旅")
    loaded: list[LoadSettings] = []
    monkeypatch.setattr(scene.window.models, "load", loaded.append)
    scene.press(Qt.Key.Key_P, CTRL | SHIFT)
    palette = scene.window.findChildren(CommandPalette)[-1]
    field = palette.findChild(QLineEdit)
    scene.qtbot.keyClicks(field, "bigmoe")
    scene.qtbot.keyClick(field, Qt.Key.Key_Return)
    scene.until(lambda: loaded == [LoadSettings(tmp_path / "big-moe.gguf")])


def test_a_started_again_program_comes_forward_and_asks_for_its_file(
    scene: RunningWindow, tmp_path: Path
) -> None:
    model = tmp_path / "model.gguf"
    model.touch()
    scene.window.showMinimized()
    scene.window.come_forward(model)
    assert not scene.window.isMinimized()
    assert [dialog.windowTitle() for dialog in scene.window.findChildren(QDialog)] == ["Load a model"]


def test_f6_goes_round_the_panels(scene: RunningWindow) -> None:
    begin(scene, "Talk")
    view = scene.window.chat.view
    scene.window.chat.conversations.tree.setFocus()
    seen = []
    for _ in range(4):
        scene.press(Qt.Key.Key_F6)
        seen.append(scene.window.focusWidget())
    assert seen[:2] == [view.composer, view.transcript]
    assert scene.window.inspector.isAncestorOf(seen[2])
    assert seen[3] is scene.window.chat.conversations.tree


@pytest.mark.parametrize("kind", EXPORT_KINDS, ids=lambda kind: kind.suffix)
def test_a_conversation_is_exported(scene: RunningWindow, tmp_path: Path, kind: object) -> None:
    number = begin(scene, "東京の旅")
    path = tmp_path / ("out" + kind.suffix)
    scene.window.files.export_one(number, kind, path)
    assert "東京の旅" in path.read_text(encoding="utf-8")
    assert scene.window.notice.text == f"Exported to {path}."


@pytest.mark.parametrize(("suffix", "has_thoughts"), [(".md", False), (".html", False), (".json", True)])
def test_thoughts_are_exported_only_where_they_come_back(
    scene: RunningWindow, tmp_path: Path, suffix: str, has_thoughts: bool
) -> None:
    number = begin(scene, "Why?")
    answer = scene.store.begin_answer(number, "Simulated")
    scene.store.finish_answer(answer.id, "<think>A secret thought.</think>Because.", "complete")
    path = tmp_path / ("out" + suffix)
    kind = next(each for each in EXPORT_KINDS if each.suffix == suffix)
    scene.window.files.export_one(number, kind, path)
    text = path.read_text(encoding="utf-8")
    assert "Because." in text
    assert ("A secret thought." in text) is has_thoughts


def test_export_and_import_bring_everything_back(scene: RunningWindow, tmp_path: Path) -> None:
    begin(scene, "One")
    begin(scene, "Two")
    scene.window.files.export_all(tmp_path / "all.json")
    scene.window.files.import_from(tmp_path / "all.json")
    assert sorted(scene.window.chat.conversations.titles()) == ["One", "One", "Two", "Two"]
    assert scene.window.notice.text == "Imported 2 conversations from all.json."


def test_a_bad_file_is_named_and_changes_nothing(scene: RunningWindow, tmp_path: Path) -> None:
    begin(scene, "One")
    bad = tmp_path / "bad.json"
    for content in (b"not json", "専門".encode("shift_jis"), b"{}", b"SQLite format 3\0cut", None):
        bad.unlink(missing_ok=True)
        if content is not None:
            bad.write_bytes(content)
        scene.window.files.import_from(bad)
        scene.until(lambda: len(scene.dialogs()) == 1)
        (box,) = scene.dialogs()
        assert box.text()
        assert box.informativeText()
        box.close()
        scene.until(lambda: scene.dialogs() == [])
    assert scene.window.chat.conversations.titles() == ["One"]


def test_a_folder_that_cannot_be_written_is_a_fault_in_words(scene: RunningWindow, tmp_path: Path) -> None:
    scene.window.files.export_all(tmp_path / "missing" / "all.json")
    (box,) = scene.dialogs()
    assert "can’t be written" in box.text()


def test_a_backup_brings_back_what_is_gone(scene: RunningWindow, tmp_path: Path) -> None:
    gone = begin(scene, "One")
    begin(scene, "Two")
    scene.window.files.back_up(tmp_path / "copy.sqlite3")
    assert scene.window.notice.text == f"Backed up to {tmp_path / 'copy.sqlite3'}."
    scene.window.chat.delete(gone)
    assert scene.window.chat.conversations.titles() == ["Two"]
    scene.window.files.import_from(tmp_path / "copy.sqlite3")
    assert sorted(scene.window.chat.conversations.titles()) == ["One", "Two"]
    assert scene.window.notice.text == "Imported 1 conversation from copy.sqlite3."


@pytest.mark.parametrize(
    ("title", "name"),
    [("a/b: c?", "a b c"), ("東京の旅", "東京の旅"), ("...", "conversation"), ("x" * 90, "x" * 60)],
)
def test_a_title_becomes_a_file_name_on_any_system(title: str, name: str) -> None:
    assert file_name(title) == name
