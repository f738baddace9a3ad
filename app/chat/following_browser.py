"""A text browser that follows its end while the reader is there, and else leaves the reader alone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPushButton, QTextBrowser, QWidget

from app.chat.reading_place import ReadingPlace

_AT_END_PIXELS = 8


class FollowingBrowser(QTextBrowser):
    """Its button leads back to the end. GUI thread."""

    # events come before the constructor is done
    _is_following = True
    _is_placed = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # coming and going, it would have everything laid out twice
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._jump = QPushButton("↓ Jump to latest", self)
        self._jump.setAutoDefault(False)
        self._jump.hide()
        self._jump.clicked.connect(self.jump_to_end)
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(self._range_changed)
        bar.valueChanged.connect(self._value_changed)

    @property
    def is_following(self) -> bool:
        """Whether the view stays at the end as text arrives."""
        return self._is_following

    def keep_place(self, change: Callable[[], None]) -> None:
        """What stands at the top stays there, unless the end is followed."""
        if self._is_placed:
            change()
            return
        place = None if self._is_following else ReadingPlace.of(self)
        self._is_placed = place is not None
        change()
        if place is not None:
            place.go_back(self)
            self._is_placed = False
            self._set_following(False)

    # --- scrolling ----------------------------------------------------------------------------

    def jump_to_end(self) -> None:
        """Show the latest text and follow it."""
        self._set_following(True)
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _range_changed(self, _least: int, most: int) -> None:
        is_selecting = bool(QGuiApplication.mouseButtons()) and self.textCursor().hasSelection()
        if self._is_following and not is_selecting:
            self.verticalScrollBar().setValue(most)
        self._place_jump()

    def _value_changed(self, value: int) -> None:
        if self._is_placed:
            return
        self._set_following(value >= self.verticalScrollBar().maximum() - _AT_END_PIXELS)

    def _set_following(self, is_following: bool) -> None:
        self._is_following = is_following
        self._place_jump()

    def _place_jump(self) -> None:
        if self._is_following and self._jump.hasFocus():
            self.setFocus()  # hiding it would move the focus, and the view with it, to the first link
        self._jump.setVisible(not self._is_following)
        self._jump.adjustSize()
        area = self.viewport().geometry()
        self._jump.move(area.center().x() - self._jump.width() // 2, area.bottom() - self._jump.height() - 8)
        self._jump.raise_()

    # --- changes that must not move the reader ------------------------------------------------

    def keep_selection(self, change: Callable[[], None]) -> None:
        """A selection that ends where new text is put does not grow with it."""
        before = self.textCursor()
        if not before.hasSelection():
            change()
            return
        anchor, position, first_changes = before.anchor(), before.position(), []
        watch = self.document().contentsChange.connect(lambda first, *_lengths: first_changes.append(first))
        change()
        self.document().contentsChange.disconnect(watch)
        after, unchanged = self.textCursor(), min(first_changes, default=0)
        anchor = anchor if anchor <= unchanged else after.anchor()
        position = position if position <= unchanged else after.position()
        if (anchor, position) != (after.anchor(), after.position()):
            after.setPosition(anchor)
            after.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
            self._set_selection(after)

    def _set_selection(self, cursor: QTextCursor) -> None:
        """Without scrolling to it."""
        place, was_placed, self._is_placed = self.verticalScrollBar().value(), self._is_placed, True
        self.setTextCursor(cursor)
        self.verticalScrollBar().setValue(place)
        self._is_placed = was_placed

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.keep_place(lambda: self._resize(event))
        self._place_jump()

    def _resize(self, event: QResizeEvent) -> None:
        self.prepare_width()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.keep_place(lambda: self._change_look(event))
        else:
            super().changeEvent(event)

    def _change_look(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.look_changed()

    def prepare_width(self) -> None:
        """Before the text is laid out for another width."""

    def look_changed(self) -> None:
        """After colours or font have changed."""
