"""The sentence of verdict, on a click the rule behind it, and the KV cache's size and growth."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.inspector.evidence import Verdict
from app.inspector.wrapped_label import FigureLabel, SteadyLabel


class VerdictBar(QWidget):
    """`add_button` puts a button of the dock beside “Why?”."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sentence, self._rule = (
            SteadyLabel("What the engine waits for"),
            FigureLabel("Rule of the verdict"),
        )
        self._context = FigureLabel("Size and growth of the KV cache")
        self._rule.setVisible(False)
        self._why = QPushButton("Why?")
        self._why.setCheckable(True)
        self._why.setToolTip("Show the figures and the rule behind the sentence.")
        self._why.toggled.connect(self._toggle_rule)
        self._top = QHBoxLayout()
        self._top.addWidget(self._sentence, 1)
        self._top.addWidget(self._why)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._top)
        layout.addWidget(self._rule)
        layout.addWidget(self._context)
        self.show_context("")

    def _toggle_rule(self, is_shown: bool) -> None:
        self._rule.setVisible(is_shown)
        self._why.setText("Hide why" if is_shown else "Why?")

    def add_button(self, button: QPushButton) -> None:
        self._top.addWidget(button)

    @property
    def sentence(self) -> str:
        return self._sentence.words

    @property
    def rule(self) -> str:
        """The rule, if it shows; otherwise empty."""
        return "" if self._rule.isHidden() else self._rule.words

    def show_rule(self, is_shown: bool) -> None:
        """As a click on “Why?” does."""
        self._why.setChecked(is_shown)

    @property
    def context(self) -> str:
        """The line about the KV cache."""
        return self._context.words

    def show_context(self, words: str) -> None:
        """A line below the sentence; none if empty."""
        self._context.say(words)
        self._context.setVisible(bool(words))

    def show_verdict(self, found: Verdict) -> None:
        self._sentence.say(found.sentence)
        self._sentence.setAccessibleDescription(found.rule)
        self._rule.say(found.rule)
