"""How full the context window would be: a bar and the figures in words."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QWidget

from app.chat.prompt_fit import answer_room_tokens

_BAR_PIXELS = (90, 8)
_NEARLY_FULL_SHARE = 0.85


def meter_words(tokens: int, context_tokens: int) -> str:
    """Used of all, and a warning before and at the limit."""
    words = f"{tokens:,} of {context_tokens:,} tokens"
    over = tokens - (context_tokens - answer_room_tokens(context_tokens))
    if over > 0:
        return f"⚠ {words}: {over:,} too many, sending will ask what to leave out"
    if tokens >= _NEARLY_FULL_SHARE * context_tokens:
        return f"⚠ {words}: nearly full, {context_tokens - tokens:,} left for the answer"
    return words


class ContextMeter(QWidget):
    """Shows the engine's count of the prompt as it would be sent; empty while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel()
        self._label.setWordWrap(True)
        self._label.setAccessibleName("Context window")
        self._bar = QProgressBar()
        self._bar.setAccessibleName("Share of the context window in use")
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(*_BAR_PIXELS)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._bar)
        layout.addWidget(self._label, 1)
        self.setToolTip(
            "System prompt, conversation, attachments and what you are writing, as the model would read them."
        )
        self.show_nothing()

    @property
    def text(self) -> str:
        return self._label.text()

    def show_count(self, tokens: int, context_tokens: int) -> None:
        """A new count."""
        self._label.setText(meter_words(tokens, context_tokens))
        self._bar.setRange(0, max(context_tokens, 1))
        self._bar.setValue(min(tokens, context_tokens))
        self._bar.show()

    def show_nothing(self, reason: str = "") -> None:
        """Nothing can be counted now."""
        self._label.setText(reason)
        self._bar.hide()
