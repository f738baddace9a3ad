"""Messages that wait for their turn, each with a way to take it back."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.chat.outgoing import Outgoing
from app.elided_label import ElidedLabel

_MOST_ROWS = 4


class QueuePanel(QFrame):
    """Hidden while nothing waits. Signals carry the place in the queue."""

    remove_wanted = Signal(int)
    edit_wanted = Signal(int)
    resume_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Queued messages")
        self._rows: QWidget | None = None
        self._resume = QPushButton("Send the queued messages")
        self._resume.clicked.connect(self.resume_wanted)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(8, 4, 8, 4)
        self._layout.addWidget(self._resume, 0, Qt.AlignmentFlag.AlignLeft)
        self._shown: tuple[tuple[Outgoing, ...], bool] = ((), False)
        self.hide()

    @property
    def lines(self) -> list[str]:
        """What is shown, a line for each message."""
        return [label.text() for label in self.findChildren(ElidedLabel) if label.isVisibleTo(self)]

    @property
    def can_resume(self) -> bool:
        return self._resume.isVisibleTo(self)

    def show_queue(self, queued: Sequence[Outgoing], is_paused: bool) -> None:
        """Replace the rows; a paused queue waits until the user sends it."""
        shown = (tuple(queued), is_paused)
        if shown == self._shown:
            return
        self._shown = shown
        if self._rows is not None:
            self._layout.removeWidget(self._rows)
            self._rows.hide()
            self._rows.deleteLater()
        self._rows = self._build_rows(queued)
        self._layout.insertWidget(0, self._rows)
        self._rows.show()  # in a visible panel Qt would show them only at the next turn of the loop
        self._resume.setVisible(is_paused)
        self.setVisible(bool(queued))

    def _build_rows(self, queued: Sequence[Outgoing]) -> QWidget:
        rows = QWidget()
        grid = QGridLayout(rows)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(0, 1)
        for index, outgoing in enumerate(queued[:_MOST_ROWS]):
            label = ElidedLabel()
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setText(f"Queued: {_line(outgoing)}")
            label.setAccessibleName(f"Queued message {index + 1}")
            grid.addWidget(label, index, 0)
            grid.addWidget(self._button("Edit", f"Edit queued message {index + 1}", index, False), index, 1)
            grid.addWidget(self._button("✕", f"Remove queued message {index + 1}", index, True), index, 2)
        if len(queued) > _MOST_ROWS:
            more = ElidedLabel()
            more.setText(f"… and {len(queued) - _MOST_ROWS} more")
            grid.addWidget(more, _MOST_ROWS, 0)
        return rows

    def _button(self, text: str, name: str, index: int, is_removing: bool) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setAccessibleName(name)
        button.setToolTip(name)
        signal = self.remove_wanted if is_removing else self.edit_wanted
        button.clicked.connect(lambda: signal.emit(index))
        return button


def _line(outgoing: Outgoing) -> str:
    words = " ".join(outgoing.text.split())
    files = ", ".join(each.name for each in outgoing.attachments)
    return " · ".join(part for part in (words, files) if part)
