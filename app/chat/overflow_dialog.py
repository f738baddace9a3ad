"""The question what to do with a prompt that doesn't fit, with its exact figures."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat.prompt_fit import Fit, answer_room_tokens

_WIDTH_CHARACTERS = 60


def overflow_words(fit: Fit) -> str:
    """What is wrong, in figures."""
    room = answer_room_tokens(fit.context_tokens)
    words = (
        f"The conversation takes {fit.prompt_tokens:,} tokens. The context window holds "
        f"{fit.context_tokens:,}, and {room:,} of them must stay free for the answer, so it is "
        f"{fit.prompt_tokens - fit.room_tokens:,} too long."
    )
    if fit.messages:
        return words
    return (
        f"{words}\n\nThe last message alone is too long, so leaving out older ones doesn’t help. Shorten it "
        "or its attachments, or load the model with a larger context window."
    )


def remembered_words(is_left_out: bool, fit: Fit) -> str:
    """What was done without asking, because the user wanted that."""
    done = "The message went to a new conversation"
    if is_left_out:
        done = f"The oldest {fit.left_out_messages:,} messages ({fit.left_out_tokens:,} tokens) are left out"
    return f"{done}, as you chose for this conversation: it no longer fits the context window."


def choice_words(choice: str, fit: Fit) -> str:
    """What a button says."""
    kept = fit.prompt_tokens - fit.left_out_tokens
    return {
        "leave_out": f"&Leave out the oldest {fit.left_out_messages:,} messages "
        f"({fit.left_out_tokens:,} tokens; {kept:,} stay)",
        "new_conversation": "&New conversation with the last message",
        "cancel": "&Cancel and go back to the message",
    }[choice]


class OverflowDialog(QDialog):
    """`chosen` carries the choice and whether it should be remembered. Escape cancels."""

    chosen = Signal(str, bool)

    def __init__(self, fit: Fit, choices: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("The conversation doesn’t fit")
        self._is_decided = False
        label = QLabel(overflow_words(fit))
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setMinimumWidth(_WIDTH_CHARACTERS * self.fontMetrics().averageCharWidth())
        layout = QVBoxLayout(self)
        layout.addWidget(label)
        self.remember = QCheckBox("&Always do this in this conversation")
        self.remember.setVisible(len(choices) > 1)
        self.buttons: dict[str, QPushButton] = {}
        for choice in choices:
            button = QPushButton(choice_words(choice, fit))
            button.clicked.connect(lambda _checked=False, chosen=str(choice): self._choose(chosen))
            self.buttons[str(choice)] = button
            layout.addWidget(button)
        layout.addWidget(self.remember)

    def close_undecided(self) -> None:
        """Close without an answer: the question comes again when its conversation is shown."""
        self._is_decided = True
        self.reject()

    def reject(self) -> None:
        if not self._is_decided:
            self._choose("cancel")
            return
        super().reject()

    def _choose(self, choice: str) -> None:
        if self._is_decided:
            return
        self._is_decided = True
        self.chosen.emit(choice, self.remember.isChecked())
        self.accept()
