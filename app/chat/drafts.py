"""Unsent text per conversation, kept over a restart."""

from __future__ import annotations

from PySide6.QtCore import QSettings

_NEW = "new"


class Drafts:
    """Keeps the composer's text for each conversation; None is the one that isn't begun yet."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    def text(self, conversation_id: int | None) -> str:
        return str(self._settings.value(self._key(conversation_id), "") or "")

    def keep(self, conversation_id: int | None, text: str) -> None:
        """Empty text forgets the draft."""
        key = self._key(conversation_id)
        if text:
            self._settings.setValue(key, text)
        elif self._settings.contains(key):
            self._settings.remove(key)

    @staticmethod
    def _key(conversation_id: int | None) -> str:
        return f"drafts/{_NEW if conversation_id is None else conversation_id}"
