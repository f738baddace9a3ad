"""Names for assistive tools, menus, colours, text size, undo, drafts and what survives a restart."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QMenu, QTextEdit, QToolButton

from app.shortcut_sheet import ShortcutSheet
from app.theme import Scheme, palette_of
from tests.support.running_window import OpenWindow


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(front: QColor, back: QColor) -> float:
    lights = luminance(front.name()), luminance(back.name())
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_no_two_actions_share_a_shortcut(open_window: OpenWindow) -> None:
    actions = open_window().window._menus.actions.values()
    keys = [key.toString() for action in actions for key in action.shortcuts()]
    assert len(keys) == len(set(keys))
    assert {"Ctrl+N", "Ctrl+O", "Ctrl+Q", "F1", "Esc"} <= set(keys)


# what text stands on: pages and dialogs, fields and lists, every second row, buttons
_GROUNDS = ("Window", "Base", "AlternateBase", "Button")
_PAIRS = [
    *((front, back) for front in ("WindowText", "Text", "PlaceholderText") for back in _GROUNDS),
    *((front, back) for front in ("Link", "LinkVisited") for back in ("Window", "Base", "AlternateBase")),
    ("ButtonText", "Button"), ("ButtonText", "Window"), ("HighlightedText", "Highlight"),
    ("HighlightedText", "Accent"), ("ToolTipText", "ToolTipBase"),
]  # fmt: skip


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize(("front", "back"), _PAIRS)
def test_contrast_of_all_text_colours(is_dark: bool, front: str, back: str) -> None:
    palette = palette_of(is_dark)
    role = QPalette.ColorRole
    assert contrast(palette.color(role[front]), palette.color(role[back])) >= 4.5


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize(
    ("front", "back"), [("WindowText", "Window"), ("Text", "Base"), ("ButtonText", "Button")]
)
def test_contrast_of_what_cannot_be_used_now(is_dark: bool, front: str, back: str) -> None:
    """It is read all the same: which entries there are, what a field holds."""
    palette, role, off = palette_of(is_dark), QPalette.ColorRole, QPalette.ColorGroup.Disabled
    assert contrast(palette.color(off, role[front]), palette.color(off, role[back])) >= 4.5


def test_colours_and_text_size_reach_everything_and_survive_a_restart(open_window: OpenWindow) -> None:
    scene = open_window()
    points = scene.window.chat.view.transcript.font().pointSizeF()
    scene.window._menus.actions["Dark"].trigger()
    for _ in range(3):
        scene.window._menus.actions["Larger text"].trigger()
    assert scene.theme.text_percent == 150
    for widget in (
        scene.window.chat.view.transcript,
        scene.window.chat.view.composer,
        scene.window.inspector,
    ):
        scene.until(lambda shown=widget: shown.font().pointSizeF() == pytest.approx(points * 1.5))
        assert widget.palette().color(QPalette.ColorRole.Base).lightness() < 80
    assert scene.window.chat.view.transcript.document().defaultFont().pointSizeF() == pytest.approx(
        points * 1.5
    )
    assert scene.settings.value("look/scheme") == Scheme.DARK.value
    assert int(str(scene.settings.value("look/text_percent"))) == 150
    scene.window._menus.actions["Light"].trigger()
    scene.window._menus.actions["Normal text size"].trigger()


def test_the_shortcut_sheet_lists_menu_and_composer_keys(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.window._menus.actions["Keyboard shortcuts"].trigger()
    sheet = scene.window.findChild(ShortcutSheet)
    text = sheet.findChild(QTextEdit).toPlainText()
    for words in ("Send the message", "Shift+Enter", "Open a model", "Ctrl+O", "Stop", "Esc"):
        assert words in text
    sheet.close()


def test_deleting_the_answering_conversation_stops_it(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    scene.say("Talk")
    scene.window.chat.delete(scene.window.chat.view.conversation_id)
    scene.until_idle()
    assert scene.transcript.strip() == ""


def test_drafts_stay_with_their_conversations_and_survive_a_restart(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.window.chat.begin_new()
    scene.say("One")
    first = scene.window.chat.view.conversation_id
    scene.window.chat.view.composer.setPlainText("draft of one")
    scene.window.chat.begin_new()
    assert scene.window.chat.view.composer.toPlainText() == ""
    scene.window.chat.view.composer.setPlainText("draft of a new one")
    scene.close()
    again = open_window()
    assert again.window.chat.view.composer.toPlainText() == "draft of a new one"
    again.window.chat.open(first)
    assert again.window.chat.view.composer.toPlainText() == "draft of one"


def test_the_size_of_the_window_and_its_panels_survives(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.window.resize(700, 500)
    scene.window.inspector.hide()
    size = scene.window.size()
    scene.close()
    again = open_window()
    assert again.window.size() == size
    assert not again.window.inspector.isVisible()


def test_without_a_model_the_start_page_shows_and_the_title_is_plain(open_window: OpenWindow) -> None:
    scene = open_window()
    assert scene.window.models.start_page.isVisible()
    assert scene.window.windowTitle() == "Emberglass"
    scene.load()
    assert not scene.window.models.start_page.isVisible()
    assert scene.window.windowTitle() == "Simulated MoE 24×64 – Emberglass (simulated)"
    assert "simulated" in scene.window.notice.text


def test_menus_are_all_reachable_by_a_letter(open_window: OpenWindow) -> None:
    bar = open_window().window.menuBar()
    assert all("&" in action.text() for action in bar.actions())
    assert all(isinstance(action.menu(), QMenu) for action in bar.actions())
    assert QApplication.activeModalWidget() is None


def test_panels_have_titles_of_full_size_and_buttons(open_window: OpenWindow) -> None:
    scene = open_window()
    title = scene.window.inspector.titleBarWidget()
    scene.theme.set_text_percent(200)
    scene.until(lambda: title.font().pointSizeF() == pytest.approx(scene.window.font().pointSizeF()))
    buttons = {button.accessibleName(): button for button in title.findChildren(QToolButton)}
    buttons["Detach or attach the panel “Inspector”"].click()
    assert scene.window.inspector.isFloating()
    buttons["Detach or attach the panel “Inspector”"].click()
    assert not scene.window.inspector.isFloating()
    buttons["Hide the panel “Inspector”"].click()
    assert not scene.window.inspector.isVisible()
    scene.theme.set_text_percent(100)


def test_letters_of_a_menu_are_not_shared(open_window: OpenWindow) -> None:
    bar = open_window().window.menuBar()
    for menu in [bar, *(action.menu() for action in bar.actions())]:
        letters = [
            text[text.index("&") + 1].casefold()
            for text in (action.text() for action in menu.actions())
            if "&" in text.replace("&&", "")
        ]
        assert sorted(letters) == sorted(set(letters))
