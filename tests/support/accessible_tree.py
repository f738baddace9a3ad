"""What a screen reader is told about a widget and everything in it."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QWidget

_Role = QAccessible.Role
INTERACTIVE = frozenset({
    _Role.Button, _Role.ButtonMenu, _Role.ButtonDropDown, _Role.CheckBox, _Role.RadioButton, _Role.ComboBox,
    _Role.EditableText, _Role.SpinBox, _Role.Slider, _Role.Dial, _Role.List, _Role.ListItem, _Role.Tree,
    _Role.TreeItem, _Role.Table, _Role.Cell, _Role.PageTab, _Role.PageTabList, _Role.MenuItem, _Role.MenuBar,
    _Role.Link, _Role.ProgressBar, _Role.Splitter,
})  # fmt: skip


def walk(interface: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    """It and everything below it that can be seen."""
    yield interface
    for place in range(interface.childCount()):
        child = interface.child(place)
        if child is not None and child.isValid() and not child.state().invisible:
            yield from walk(child)


def nameless(root: QWidget) -> list[str]:
    """Roles and classes of the interactive parts that have no name."""
    interface = QAccessible.queryAccessibleInterface(root)
    assert interface is not None
    return [
        f"{each.role().name} {_class(each)}"
        for each in walk(interface)
        if each.role() in INTERACTIVE and not each.text(QAccessible.Text.Name).strip()
    ]


def roles(root: QWidget) -> set[QAccessible.Role]:
    interface = QAccessible.queryAccessibleInterface(root)
    assert interface is not None
    return {each.role() for each in walk(interface)}


def _class(interface: QAccessibleInterface) -> str:
    found = interface.object()
    if found is None:
        return "part"
    parent = found.parent()
    return (
        f"{type(found).__name__} in {type(parent).__name__}" if parent is not None else type(found).__name__
    )
