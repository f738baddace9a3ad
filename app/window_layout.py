"""Where things stand in the window: pages in the middle, panels at the sides, the state at the bottom."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from app.dock_title import DockTitle
from app.elided_label import ElidedLabel
from app.panel_round import order_panels

_FIRST_SIZE = (1280, 800)
_START_PAGE, _CHAT_PAGE = range(2)


class WindowLayout:
    """Builds the frame once; afterwards it turns pages and shows the state."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._pages = QStackedWidget()
        self.state_line = ElidedLabel()
        self.conversations = QDockWidget("Conversations")
        self.conversations.setObjectName("conversations_dock")
        self.docks: list[QDockWidget] = []

    def build(
        self,
        news: Sequence[QWidget],
        start_page: QWidget,
        chat_page: Sequence[QWidget],
        conversations: QWidget,
        inspector: QDockWidget,
    ) -> None:
        """`news` stand above the pages; the last widget of `chat_page` takes its room."""
        for page in (start_page, _column(chat_page)):
            self._pages.addWidget(page)
        centre = _column((*news, self._pages))
        self._window.setCentralWidget(centre)
        self.conversations.setWidget(conversations)
        self.docks = [self.conversations, inspector]
        self._window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self.conversations)
        self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, inspector)
        titles = [DockTitle(dock) for dock in self.docks]
        for dock, title in zip(self.docks, titles, strict=True):
            dock.setTitleBarWidget(title)
        self.state_line.setAccessibleName("State of the engine")
        self.state_line.setTextFormat(Qt.TextFormat.PlainText)
        self._window.statusBar().addWidget(self.state_line, 1)
        order_panels((titles[0], conversations, centre, titles[1], inspector.widget()))

    def use_first_sizes(self) -> None:
        """For a window that was never placed by its user."""
        width, height = _FIRST_SIZE
        screen = self._window.screen().availableGeometry()
        # the frame of the window needs room too
        size = min(width, round(screen.width() * 0.98)), min(height, round(screen.height() * 0.92))
        self._window.resize(*size)
        widths = [width * 18 // 100, width * 36 // 100]
        self._window.resizeDocks(self.docks, widths, Qt.Orientation.Horizontal)

    def show_start(self) -> None:
        self._pages.setCurrentIndex(_START_PAGE)

    def show_chat(self) -> None:
        self._pages.setCurrentIndex(_CHAT_PAGE)


def _column(widgets: Sequence[QWidget]) -> QWidget:
    """One below the other without gaps; the last one grows."""
    column = QWidget()
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    for widget in widgets:
        layout.addWidget(widget)
    layout.setStretchFactor(widgets[-1], 1)
    return column
