"""A page of a dialog that is made when it is first shown, so that opening the dialog doesn't wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

Page = TypeVar("Page", bound=QWidget)


class LaterPage(QWidget, Generic[Page]):
    """GUI thread."""

    def __init__(self, make: Callable[[], Page]) -> None:
        super().__init__()
        self._make = make
        self._page: Page | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)

    @property
    def page(self) -> Page:
        """The page itself, made now if it wasn't before."""
        if self._page is None:
            self._page = self._make()
            layout = self.layout()
            assert layout is not None, "it was given one"
            layout.addWidget(self._page)
        return self._page

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.page.show()
