"""Draws a row of the conversation list and lets its title be edited in place."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QPainter, QPalette, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import (
    QApplication,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.chat.row_words import RowWords
from app.text_field import TextField

ID = int(Qt.ItemDataRole.UserRole)
TITLE, WORDS = ID + 1, ID + 2
_ROW_PADDING = 4
_Index = QModelIndex | QPersistentModelIndex


class ConversationRows(QStyledItemDelegate):
    """`renamed` carries the conversation's id and its new title."""

    renamed = Signal(int, str)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        words = index.data(WORDS)
        if not isinstance(words, RowWords) or words.mark_end <= words.mark_start:
            super().paint(painter, option, index)
            return
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        shown.text = ""
        widget = option.widget
        style = widget.style() if widget is not None else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, widget)
        area = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, shown, widget)
        # where the style itself begins its text
        margin = style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, shown, widget) + 1
        _draw_words(painter, area.adjusted(margin, 0, -margin, 0), words, shown)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        size = super().sizeHint(option, index)
        # long titles are elided, never scrolled to
        return QSize(1, size.height() + 2 * _ROW_PADDING)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        return TextField("Title of the conversation", parent=parent)

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        if isinstance(editor, TextField):
            # the view has put this delegate's own filter in front by now
            editor.guard_again()
            editor.setText(index.data(TITLE))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        if isinstance(editor, TextField):
            title = editor.text().strip()
            if title and title != index.data(TITLE):
                self.renamed.emit(index.data(ID), title)


def _draw_words(painter: QPainter, area: QRect, words: RowWords, option: QStyleOptionViewItem) -> None:
    palette, font, state = option.palette, option.font, option.state
    is_selected = bool(state & QStyle.StateFlag.State_Selected)
    role = QPalette.ColorRole.HighlightedText if is_selected else QPalette.ColorRole.Text
    painter.save()
    painter.setClipRect(area)
    painter.setPen(palette.color(role))
    line_height = option.fontMetrics.lineSpacing()
    top = area.center().y() - line_height * len(words.lines) / 2
    for number, line in enumerate(words.lines):
        marks = [_mark(words, palette, is_selected)] if number == words.marked_line else []
        _one_line(line, font, area.width(), marks).draw(
            painter, QPointF(area.left(), top + number * line_height)
        )
    painter.restore()


def _one_line(text: str, font: QFont, width: int, marks: list[QTextLayout.FormatRange]) -> QTextLayout:
    layout = QTextLayout(text, font)
    option = layout.textOption()
    option.setWrapMode(option.WrapMode.NoWrap)
    layout.setTextOption(option)
    layout.setFormats(marks)
    layout.beginLayout()
    layout.createLine().setLineWidth(width)
    layout.endLayout()
    return layout


def _mark(words: RowWords, palette: QPalette, is_selected: bool) -> QTextLayout.FormatRange:
    look = QTextCharFormat()
    look.setFontWeight(QFont.Weight.Bold)
    if is_selected:
        look.setFontUnderline(True)
    else:
        look.setBackground(palette.highlight())
        look.setForeground(palette.highlightedText())
    mark = QTextLayout.FormatRange()
    mark.start, mark.length = words.mark_start, words.mark_end - words.mark_start
    mark.format = look
    return mark
