"""Conversations on disk: what the user wrote is safe before the model starts, answers while they stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.history.branches import Branches
from app.history.conversation_copy import HistoryCopy
from app.history.conversation_rows import ConversationRows
from app.history.copying import Copying
from app.history.database import Database, storable
from app.history.database_file import write_backup
from app.history.drafts import Drafts
from app.history.message_rows import MessageRows
from app.history.presets import Presets
from app.history.records import LEAF, Attachment, ChatSettings, Conversation, Message, Preset, SearchHit
from app.history.search import find, find_in


class HistoryStore:
    """The only owner of the conversations file. One thread uses it, the one that made it: the GUI thread
    (a save takes about 0.1 ms, a durable one as long as the disk needs to flush).

    Opening takes the process lock, replaces a damaged file by the last good backup, migrates an old one,
    marks answers of a crashed session as interrupted and purges what was deleted over 30 days ago.
    `opening_note` says in words what was unusual, empty if nothing was.
    Every method raises HistoryError subclasses; after one, what was saved before is still there.
    """

    def __init__(self, path: Path, wall_clock: Callable[[], float] = time.time) -> None:
        self._database = Database(path, wall_clock())
        self.opening_note = self._database.opening_note
        self._conversations = ConversationRows(self._database, wall_clock)
        self._messages = MessageRows(self._database, self._conversations)
        self._branches = Branches(self._database, wall_clock)
        self._presets = Presets(self._database)
        self._drafts = Drafts(self._database)
        self._copying = Copying(self._database, self._conversations, self._presets, wall_clock)

    def close(self) -> None:
        """Fold the log into the file and give the lock back; may be called twice."""
        self._database.close()

    # --- conversations ------------------------------------------------------------------------

    def create_conversation(self, title: str = "") -> Conversation:
        return self._conversations.create(title)

    def conversations(self) -> list[Conversation]:
        """All that aren't deleted: the pinned ones first, then the one with the latest message."""
        return self._conversations.all()

    def rename(self, conversation_id: int, title: str) -> None:
        self._conversations.change("title", storable(title), conversation_id)

    def set_pinned(self, conversation_id: int, is_pinned: bool) -> None:
        self._conversations.change("is_pinned", int(is_pinned), conversation_id)

    def set_folder(self, conversation_id: int, folder: str) -> None:
        """Move it into a folder, which exists as long as something is in it; empty takes it out."""
        self._conversations.change("folder", storable(folder).strip(), conversation_id)

    def folders(self) -> list[str]:
        """In alphabetical order."""
        return self._conversations.folders()

    def delete(self, conversation_id: int) -> None:
        """Hide it; `restore` brings it back, 30 days later it is purged at a start."""
        self._conversations.delete(conversation_id)

    def restore(self, conversation_id: int) -> None:
        self._conversations.change("deleted_at", None, conversation_id)

    def duplicate(self, conversation_id: int) -> Conversation:
        """Another one with all branches and settings; an answer that streams ends there as interrupted."""
        return self._copying.duplicate(conversation_id)

    # --- messages -----------------------------------------------------------------------------

    def messages(self, conversation_id: int) -> list[Message]:
        """The active branch, first message to leaf; empty for an unknown conversation."""
        return self._messages.branch(conversation_id)

    def add_user_message(
        self,
        conversation_id: int,
        text: str,
        attachments: Sequence[Attachment] = (),
        parent_id: int | None = LEAF,
    ) -> Message:
        """Becomes the leaf; on return it survives a power cut.

        Another parent than the leaf begins a branch, None one with another first message.
        """
        return self._messages.add_user_message(conversation_id, text, attachments, parent_id)

    def begin_answer(self, conversation_id: int, model_name: str, parent_id: int | None = LEAF) -> Message:
        """An empty streaming answer, the new leaf, durable on return; an AnswerWriter fills it."""
        return self._messages.begin_answer(conversation_id, model_name, parent_id)

    def resume_answer(self, message_id: int) -> Message:
        """An ended answer streams again and keeps its text: give that to the AnswerWriter."""
        return self._messages.resume_answer(message_id)

    def save_answer_text(self, message_id: int, text: str) -> None:
        """Replace the text of a streaming answer; survives a crash of the program from then on."""
        self._messages.save_text(message_id, text)

    def finish_answer(
        self, message_id: int, text: str, status: str, stats: Mapping[str, object] | None = None
    ) -> None:
        """End a streaming answer as complete, stopped, failed or interrupted.

        `stats` come back as JSON gives them; a value JSON can't hold comes back as its text.
        """
        self._messages.finish(message_id, text, status, stats)

    def choose_version(self, message_id: int) -> None:
        """Make a branch through this message active, the newest one; no change if it is shown already."""
        self._branches.choose_version(message_id)

    def delete_message(self, message_id: int) -> None:
        """Hide it with all that hangs below; the branch then ends with another version or the parent.

        An answer that streams is written on where it is hidden. Purged at a start 30 days later.
        """
        self._branches.delete_message(message_id)

    def restore_message(self, message_id: int) -> None:
        """Undo `delete_message`; the branch shown is the one from before if the message was in it."""
        self._branches.restore_message(message_id)

    # --- settings, presets, drafts ------------------------------------------------------------

    def settings_of(self, conversation_id: int) -> ChatSettings:
        """What this conversation overrides."""
        return self._conversations.settings(conversation_id)

    def set_settings(self, conversation_id: int, settings: ChatSettings) -> None:
        self._conversations.set_settings(conversation_id, settings)

    def preset_of(self, conversation_id: int) -> Preset | None:
        return self._conversations.preset(conversation_id)

    def set_preset(self, conversation_id: int, preset_id: int | None) -> None:
        self._presets.require(preset_id)
        self._conversations.change("preset_id", preset_id, conversation_id)

    def presets(self) -> list[Preset]:
        """In alphabetical order."""
        return self._presets.all()

    def save_preset(self, name: str, settings: ChatSettings, id: int | None = None) -> Preset:
        """A new one, or the one of this id changed. Raises HistoryNameError: empty or taken name."""
        return self._presets.save(name, settings, id)

    def delete_preset(self, preset_id: int) -> None:
        """Conversations that used it go back to the program's settings, with their own overrides."""
        self._presets.delete(preset_id)

    def draft(self, conversation_id: int | None) -> str:
        """Unsent text; None is the conversation that isn't begun yet."""
        return self._drafts.text(conversation_id)

    def keep_draft(self, conversation_id: int | None, text: str) -> None:
        """Empty text forgets the draft."""
        self._drafts.keep(conversation_id, text)

    # --- search -------------------------------------------------------------------------------

    def search(self, text: str, conversation_id: int | None = None) -> list[SearchHit]:
        """Titles and messages that contain every word of `text`, taken literally, whatever its case.

        All versions of messages are searched, shown or not: what was written can be found.
        In one conversation: its messages only, in the order they were written.
        """
        with self._database.in_words():
            if conversation_id is None:
                return find(self._database.connection, text)
            return find_in(self._database.connection, text, conversation_id)

    # --- whole conversations ------------------------------------------------------------------

    def copy_of(self, conversation_ids: Sequence[int] | None) -> HistoryCopy:
        """These conversations with all their branches, or all there are with all presets."""
        return self._copying.copy_of(conversation_ids)

    def add_copy(self, copy: HistoryCopy) -> list[int]:
        """Add conversations, all or none; returns their new ids. A preset of a taken name gets a number."""
        return self._copying.add(copy)

    def backup_to(self, path: Path) -> None:
        """Everything in one file, whole or not at all; about a second per 500 MB.

        To go back, put the file in the place of the conversations file.
        """
        write_backup(self._database.connection, self._database.path, path)
