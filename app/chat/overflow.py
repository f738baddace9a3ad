"""What happens when a conversation no longer fits the context window: the user decides, by exact figures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtWidgets import QWidget

from app.chat.answering import Answering
from app.chat.ask import Ask, TooLong
from app.chat.outgoing import Outgoing, outgoing_of
from app.chat.overflow_dialog import OverflowDialog, remembered_words
from app.chat.sending import Sending
from app.history.errors import HistoryError
from app.history.store import HistoryStore


class Choice(StrEnum):
    """Ways out; CANCEL is never remembered."""

    LEAVE_OUT = "leave_out"
    NEW_CONVERSATION = "new_conversation"
    CANCEL = "cancel"


class Overflow(QObject):
    """Asks over `window`, unless the user had a choice remembered for this conversation.

    `given_back` carries a conversation id and what was taken back from it, `moved` the conversation begun
    for the message, `remembered` a conversation id and words about a choice that was not asked again, `fault`
    a HistoryError.
    """

    given_back = Signal(int, object)
    moved = Signal(int)
    remembered = Signal(int, str)
    fault = Signal(object)

    def __init__(
        self,
        store: HistoryStore,
        answering: Answering,
        sending: Sending,
        settings: QSettings,
        window: QWidget,
    ) -> None:
        super().__init__()
        self._store = store
        self._answering = answering
        self._sending = sending
        self._settings = settings
        self._window = window
        self.dialog: OverflowDialog | None = None

    def decide(self, too_long: TooLong, is_shown: bool) -> None:
        """Do what was chosen before, or ask if the conversation is on the screen."""
        remembered = self._remembered(too_long.ask.conversation_id)
        if remembered in choices(too_long):
            self._apply(too_long, remembered)
            if is_shown:
                words = remembered_words(remembered == Choice.LEAVE_OUT, too_long.fit)
                self.remembered.emit(too_long.ask.conversation_id, words)
        elif is_shown:
            self._ask(too_long)

    def ask_next_time(self, conversation_id: int) -> None:
        """Forget what was chosen for a conversation."""
        self._settings.remove(_key(conversation_id))

    def conversation_shown(self, conversation_id: int | None) -> None:
        """Ask what could not be asked while another conversation was on the screen."""
        if self.dialog is not None:
            self.dialog.close_undecided()
        held = self._answering.held_of(conversation_id)
        if held is not None:
            self._ask(held)

    def _ask(self, too_long: TooLong) -> None:
        dialog = OverflowDialog(too_long.fit, choices(too_long), self._window)
        dialog.chosen.connect(lambda choice, is_kept: self._chosen(too_long, Choice(choice), is_kept))
        self.dialog = dialog
        dialog.open()

    def _chosen(self, too_long: TooLong, choice: Choice, is_remembered: bool) -> None:
        self.dialog = None
        if is_remembered and choice is not Choice.CANCEL:
            self._settings.setValue(_key(too_long.ask.conversation_id), choice.value)
        self._apply(too_long, choice)

    def _apply(self, too_long: TooLong, choice: Choice | None) -> None:
        if self._answering.held_of(too_long.ask.conversation_id) is not too_long:
            return  # stopped or asked anew meanwhile
        ask = too_long.ask
        if choice is Choice.LEAVE_OUT:
            # the time the user took to decide is not the engine's
            self._answering.ask(replace(ask, is_shortened=True, asked_ns=time.perf_counter_ns()))
        elif choice is Choice.NEW_CONVERSATION:
            self._move(ask)
        else:
            outgoing = self._sending.take_back(ask)
            if outgoing is not None:
                self.given_back.emit(ask.conversation_id, outgoing)

    def _move(self, ask: Ask) -> None:
        """The message, and the settings it would have been answered with, go to a new conversation."""
        try:
            outgoing = self._taken(ask)
            if outgoing is None:
                return
            begun = self._sending.begin_conversation(outgoing)
            if begun is None:
                return
            self._store.set_settings(begun, self._store.settings_of(ask.conversation_id))
            preset = self._store.preset_of(ask.conversation_id)
            self._store.set_preset(begun, preset.id if preset else None)
            self._sending.send(begun, outgoing)
        except HistoryError as error:
            self.fault.emit(error)
            return
        self.moved.emit(begun)

    def _taken(self, ask: Ask) -> Outgoing | None:
        taken = self._sending.take_back(ask)
        if taken is not None:
            return taken
        # an earlier message is to be answered again: it stays where it is, its words go along
        messages = self._store.messages(ask.conversation_id)
        return next((outgoing_of(each) for each in messages if each.id == ask.message_id), None)

    def _remembered(self, conversation_id: int) -> Choice | None:
        value = str(self._settings.value(_key(conversation_id), "") or "")
        return Choice(value) if value in set(Choice) else None


def choices(too_long: TooLong) -> Sequence[Choice]:
    """What can be done about it."""
    fit, ask = too_long.fit, too_long.ask
    possible = [Choice.LEAVE_OUT] if fit.messages else []
    # alone in its conversation, or too long by itself, a message gains nothing by a new one
    if fit.messages and not ask.is_continuation:
        possible.append(Choice.NEW_CONVERSATION)
    return [*possible, Choice.CANCEL]


def _key(conversation_id: int) -> str:
    return f"overflow/{conversation_id}"
