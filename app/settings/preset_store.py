"""What the settings need of the store of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.history.records import ChatSettings, Preset


class PresetStore(Protocol):
    """Every method raises HistoryError subclasses. GUI thread."""

    def presets(self) -> Sequence[Preset]: ...

    def save_preset(self, name: str, settings: ChatSettings, id: int | None = None) -> Preset: ...

    def delete_preset(self, preset_id: int) -> None: ...


class ConversationStore(PresetStore, Protocol):
    """Presets, and what one conversation changes of its own."""

    def settings_of(self, conversation_id: int) -> ChatSettings: ...

    def set_settings(self, conversation_id: int, settings: ChatSettings) -> None: ...

    def preset_of(self, conversation_id: int) -> Preset | None: ...

    def set_preset(self, conversation_id: int, preset_id: int | None) -> None: ...
