"""What a conversation will begin with that is not stored yet, because nothing was sent in it."""

from __future__ import annotations

from collections.abc import Sequence

from app.history.records import ChatSettings, Preset
from app.settings.choices import ChatChoices
from app.settings.preset_store import ConversationStore


class PendingSettings:
    """A ConversationStore for the one conversation without a number: conversation ids are not looked at.

    Begins with the default preset; `apply_to` moves what was set into a stored conversation and begins anew.
    Methods raise HistoryError as the store's do. GUI thread.
    """

    def __init__(self, store: ConversationStore, choices: ChatChoices) -> None:
        self._store, self._choices = store, choices
        self._settings = ChatSettings()
        self._chosen_preset_id: int | None = None
        self._is_preset_chosen = False

    def presets(self) -> Sequence[Preset]:
        return self._store.presets()

    def save_preset(self, name: str, settings: ChatSettings, id: int | None = None) -> Preset:
        return self._store.save_preset(name, settings, id)

    def delete_preset(self, preset_id: int) -> None:
        self._store.delete_preset(preset_id)

    def settings_of(self, conversation_id: int) -> ChatSettings:
        return self._settings

    def set_settings(self, conversation_id: int, settings: ChatSettings) -> None:
        self._settings = settings

    def preset_of(self, conversation_id: int) -> Preset | None:
        wanted = self._chosen_preset_id if self._is_preset_chosen else self._choices.default_preset_id
        return next((each for each in self.presets() if each.id == wanted), None)

    def set_preset(self, conversation_id: int, preset_id: int | None) -> None:
        self._chosen_preset_id, self._is_preset_chosen = preset_id, True

    def levels(self) -> list[ChatSettings]:
        """What was set, then the preset it is laid over."""
        preset = self.preset_of(0)
        return [self._settings, *([preset.settings] if preset else [])]

    def apply_to(self, conversation_id: int) -> None:
        """The conversation got its number."""
        preset = self.preset_of(conversation_id)
        if preset is not None:
            self._store.set_preset(conversation_id, preset.id)
        if self._settings != ChatSettings():
            self._store.set_settings(conversation_id, self._settings)
        self._settings, self._is_preset_chosen = ChatSettings(), False
