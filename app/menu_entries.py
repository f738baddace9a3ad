"""Everything the menus offer, as a flat list for the command palette and the sheet of shortcuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar

_NATIVE = QKeySequence.SequenceFormat.NativeText


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """`place` is the menu it stands in, like “View › Colours”."""

    text: str
    place: str
    keys: str
    action: QAction


def menu_entries(bar: QMenuBar) -> list[MenuEntry]:
    """All entries of all menus, as they stand there."""
    found: list[MenuEntry] = []
    for action in bar.actions():
        found += _entries_below(action, ())
    return found


def action_entry(action: QAction, place: str) -> MenuEntry:
    """An action that may stand outside the menu bar."""
    keys = ", ".join(each.toString(_NATIVE) for each in action.shortcuts())
    return MenuEntry(plain_text(action), place, keys, action)


def plain_text(action: QAction) -> str:
    """The text without access keys and dots."""
    return action.text().replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")


def _entries_below(action: QAction, path: tuple[str, ...]) -> Iterator[MenuEntry]:
    menu = action.menu()
    if isinstance(menu, QMenu):
        for each in menu.actions():
            yield from _entries_below(each, (*path, plain_text(action)))
    elif not action.isSeparator():
        yield action_entry(action, " › ".join(path))
