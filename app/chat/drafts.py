"""Unsent text, attachments and queued messages per conversation, kept in the store over a restart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from app.chat.outgoing import Outgoing
from app.history.errors import HistoryError
from app.history.records import Attachment
from app.history.store import HistoryStore

# A draft that is plain text is stored as such; anything more as JSON that begins like this.
_MARK = '{"emberglass_draft":'


@dataclass(frozen=True, slots=True)
class Draft:
    """What is in the composer of a conversation, and what waits in its queue."""

    outgoing: Outgoing = field(default_factory=Outgoing)
    queued: tuple[Outgoing, ...] = ()


class Drafts:
    """Holds the drafts in use and keeps them in the store; None is the conversation that isn't begun yet.

    What is written stays here also if it can't be saved. All methods raise HistoryError.
    """

    def __init__(self, store: HistoryStore) -> None:
        self._store = store
        self._drafts: dict[int | None, Draft] = {}

    def draft(self, conversation_id: int | None) -> Draft:
        """What was put last, in this session or an earlier one."""
        if conversation_id not in self._drafts:
            self._drafts[conversation_id] = decoded(self._store.draft(conversation_id))
        return self._drafts[conversation_id]

    def put_outgoing(self, conversation_id: int | None, outgoing: Outgoing) -> None:
        """Replace what is in the composer. Costs nothing if it is the same."""
        self._put(conversation_id, replace(self.draft(conversation_id), outgoing=outgoing))

    def put_queue(self, conversation_id: int, queued: Sequence[Outgoing]) -> None:
        """Replace what waits. A message that can't be saved does not get in, one that was sent gets out."""
        before = self.draft(conversation_id)
        try:
            self._put(conversation_id, replace(before, queued=tuple(queued)))
        except HistoryError:
            if len(queued) > len(before.queued):
                self._drafts[conversation_id] = before
            raise

    def _put(self, conversation_id: int | None, draft: Draft) -> None:
        if self._drafts.get(conversation_id) != draft:
            self._drafts[conversation_id] = draft
            self._store.keep_draft(conversation_id, encoded(draft))


def encoded(draft: Draft) -> str:
    """One text for the store."""
    text = draft.outgoing.text
    if not draft.outgoing.attachments and not draft.queued and not text.startswith(_MARK):
        return text
    document = {
        "emberglass_draft": 1,
        **asdict(draft.outgoing),
        "queued": [asdict(each) for each in draft.queued],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def decoded(stored: str) -> Draft:
    """The draft in a stored text; what can't be read as one is its text."""
    if not stored.startswith(_MARK):
        return Draft(Outgoing(stored))
    try:
        document = json.loads(stored)
        return Draft(_outgoing(document), tuple(_outgoing(each) for each in document["queued"]))
    except (ValueError, KeyError, TypeError):
        return Draft(Outgoing(stored))


def _outgoing(document: dict[str, object]) -> Outgoing:
    attachments = document["attachments"]
    if not isinstance(attachments, list):
        raise TypeError("attachments are a list")
    files = tuple(Attachment(str(each["name"]), str(each["text"])) for each in attachments)
    return Outgoing(str(document["text"]), files)
