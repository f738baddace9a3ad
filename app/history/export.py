"""Conversations as text: JSON that can be imported again, Markdown and HTML to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from app.history.conversation_copy import ConversationCopy, MessageCopy
from app.history.html_page import html_page
from app.history.markdown_page import markdown_page
from app.history.readable import readable
from app.history.store import HistoryStore
from app.history.stored_json import settings_values

FORMAT = "emberglass-conversations"
FORMAT_VERSION = 1


def export_json(store: HistoryStore, conversation_ids: Sequence[int] | None = None) -> str:
    """These conversations, or all with all presets: everything but drafts and what was deleted.

    `import_json` makes the same of it again. Raises HistoryError.
    """
    copy = store.copy_of(conversation_ids)
    values = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "presets": [{"name": name, "settings": settings_values(each)} for name, each in copy.presets],
        "conversations": [_conversation_values(each) for each in copy.conversations],
    }
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def export_markdown(
    store: HistoryStore, conversation_id: int, answer_text: Callable[[str], str] = str
) -> str:
    """The active branch to read; `answer_text` makes of an answer what a reader should see of it.

    Raises HistoryError.
    """
    return markdown_page(readable(_one(store, conversation_id), answer_text))


def export_html(store: HistoryStore, conversation_id: int, answer_text: Callable[[str], str] = str) -> str:
    """The active branch as one page that fetches nothing and runs nothing; texts stay as they were written.

    `answer_text` as in `export_markdown`. Raises HistoryError.
    """
    return html_page(readable(_one(store, conversation_id), answer_text))


def _one(store: HistoryStore, conversation_id: int) -> ConversationCopy:
    return store.copy_of([conversation_id]).conversations[0]


def _conversation_values(copy: ConversationCopy) -> dict[str, object]:
    return {
        "title": copy.title,
        "created_at_seconds": copy.created_at_seconds,
        "updated_at_seconds": copy.updated_at_seconds,
        "model_name": copy.model_name,
        "is_pinned": copy.is_pinned,
        "folder": copy.folder,
        "settings": settings_values(copy.settings),
        "preset": copy.preset,
        "leaf": copy.leaf,
        "messages": [_message_values(each) for each in copy.messages],
    }


def _message_values(copy: MessageCopy) -> dict[str, object]:
    values: dict[str, object] = {
        "role": copy.role,
        "text": copy.text,
        "status": copy.status,
        "created_at_seconds": copy.created_at_seconds,
        "model_name": copy.model_name,
        "parent": copy.parent,
        "stats": copy.stats,
    }
    if copy.attachments:
        values["attachments"] = [asdict(each) for each in copy.attachments]
    return values
