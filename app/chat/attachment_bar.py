"""Attached files of the message in the composer: one chip each, with what it costs and a way to remove it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QWidget

from app.history.records import Attachment


class AttachmentChip(QFrame):
    """One file; `removed` is emitted by its button."""

    removed = Signal()

    def __init__(self, attachment: Attachment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.attachment = attachment
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setToolTip(attachment.name)
        remove = QToolButton()
        remove.setText("✕")
        remove.setAutoRaise(True)
        remove.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        remove.setAccessibleName(f"Remove the attachment {attachment.name}")
        remove.setToolTip("Remove")
        remove.clicked.connect(self.removed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 2, 2)
        layout.addWidget(self._label)
        layout.addWidget(remove)
        self.show_cost(None)

    @property
    def text(self) -> str:
        return self._label.text()

    def show_cost(self, tokens: int | None) -> None:
        """Tokens of the file in the prompt; None while nobody can count them."""
        size = f"{len(self.attachment.text):,} characters" if tokens is None else f"{tokens:,} tokens"
        self._label.setText(f"{self.attachment.name} · {size}")
        self.setAccessibleName(f"Attachment {self.text}")


class AttachmentBar(QScrollArea):
    """A row of chips, hidden while there are none; `changed` after the user removed one."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Attachments")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.chips: list[AttachmentChip] = []
        self._row = QWidget()
        self._layout = QHBoxLayout(self._row)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addStretch(1)
        self.setWidget(self._row)
        self.hide()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return tuple(chip.attachment for chip in self.chips)

    def show_attachments(self, attachments: Sequence[Attachment]) -> None:
        """Replace all chips."""
        for chip in list(self.chips):
            self._take_out(chip)
        for attachment in attachments:
            self._append(attachment)
        self._fit()

    def add(self, attachment: Attachment) -> None:
        """One more chip."""
        self._append(attachment)
        self._fit()

    def show_cost(self, attachment: Attachment, tokens: int) -> None:
        """What a file takes of the prompt; a file removed meanwhile is ignored."""
        for chip in self.chips:
            if chip.attachment == attachment:
                chip.show_cost(tokens)

    def _append(self, attachment: Attachment) -> None:
        chip = AttachmentChip(attachment)
        chip.removed.connect(lambda: self._remove(chip))
        self.chips.append(chip)
        self._layout.insertWidget(self._layout.count() - 1, chip)

    def _remove(self, chip: AttachmentChip) -> None:
        self._take_out(chip)
        self._fit()
        self.changed.emit()

    def _take_out(self, chip: AttachmentChip) -> None:
        self.chips.remove(chip)
        self._layout.removeWidget(chip)
        chip.hide()
        chip.deleteLater()

    def _fit(self) -> None:
        hints = [chip.sizeHint() for chip in self.chips]
        row_width = sum(hint.width() + self._layout.spacing() for hint in hints)
        bar_height = self.horizontalScrollBar().sizeHint().height() if row_width > self.width() else 0
        self.setFixedHeight(max((hint.height() for hint in hints), default=0) + bar_height)
        self.setVisible(bool(self.chips))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()
