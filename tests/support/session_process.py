"""A process that does everything a user does to conversations, as fast as it can, until it is killed.

Around each step it prints a line of JSON: what the conversation holds once the step is done (`will`), the
same again once the store has returned (`did`). What it holds is kept here beside the store, never read
from it. Run as `python -m tests.support.session_process PATH SEED`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from app.history.records import Attachment
from app.history.store import HistoryStore


@dataclass
class Kept:
    """What a conversation holds: each message with its parent, and the leaf of the branch shown."""

    id: int
    title: str
    is_pinned: bool = False
    folder: str = ""
    texts: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int | None] = field(default_factory=dict)
    leaf: int | None = None
    is_deleted: bool = False

    def add(self, number: int, text: str, parent: int | None) -> None:
        self.texts[number], self.parents[number], self.leaf = text, parent, number

    def state(self, extra_text: str | None = None, extra_parent: int | None = None) -> dict[str, object]:
        """`extra_text` is a message about to be added, whose id isn't known yet."""
        shown: list[str] = [] if extra_text is None else [extra_text]
        at = self.leaf if extra_text is None else extra_parent
        while at is not None:
            shown.append(self.texts[at])
            at = self.parents[at]
        everything = [*self.texts.values(), *([] if extra_text is None else [extra_text])]
        return {
            "title": self.title, "pinned": self.is_pinned, "folder": self.folder, "deleted": self.is_deleted,
            "shown": shown[::-1], "all": sorted(everything),
        }  # fmt: skip


class Session:
    """One user at work; every choice comes from the seed."""

    def __init__(self, store: HistoryStore, seed: int) -> None:
        self._store = store
        self._random = random.Random(seed)
        self._words = (f"word {seed}-{number} 言葉 " * self._random.randint(1, 60) for number in count())
        self._kept: list[Kept] = []
        self._begin()

    def step(self) -> None:
        actions: list[Callable[[Kept], None]] = [
            self._send, self._send, self._stream, self._stream, self._again, self._edit, self._rename,
            self._pin, self._file, self._delete_message, self._delete,
        ]  # fmt: skip
        kept = self._random.choice(self._kept)
        self._random.choice(actions)(kept)
        if len(self._kept) < 3 or self._random.random() < 0.1:
            self._begin()

    def _begin(self) -> None:
        title = next(self._words)
        _say({"will": Kept(0, title).state(), "id": None})
        kept = Kept(self._store.create_conversation(title).id, title)
        self._kept.append(kept)
        self._did(kept)

    def _send(self, kept: Kept) -> None:
        self._add_question(kept, kept.leaf)

    def _edit(self, kept: Kept) -> None:
        """Another version of a message somewhere, the first one included."""
        self._add_question(kept, self._random.choice([None, *kept.parents.values()]))

    def _add_question(self, kept: Kept, parent: int | None) -> None:
        text = next(self._words)
        self._will(kept, text, parent)
        files = (Attachment("notes.txt", text),) if self._random.random() < 0.3 else ()
        kept.add(self._store.add_user_message(kept.id, text, files, parent).id, text, parent)
        self._did(kept)

    def _stream(self, kept: Kept) -> None:
        self._answer(kept, kept.leaf)

    def _again(self, kept: Kept) -> None:
        self._answer(kept, self._random.choice([None, *kept.texts]))

    def _answer(self, kept: Kept, parent: int | None) -> None:
        self._will(kept, "", parent)
        number = self._store.begin_answer(kept.id, "moe", parent).id
        kept.add(number, "", parent)
        self._did(kept)
        for _ in range(self._random.randint(0, 6)):
            kept.texts[number] += next(self._words)
            self._will(kept)
            self._store.save_answer_text(number, kept.texts[number])
            self._did(kept)
        self._will(kept)
        self._store.finish_answer(number, kept.texts[number], "complete", {"tokens": 3})
        self._did(kept)

    def _rename(self, kept: Kept) -> None:
        kept.title = next(self._words)
        self._will(kept)
        self._store.rename(kept.id, kept.title)
        self._did(kept)

    def _pin(self, kept: Kept) -> None:
        kept.is_pinned = not kept.is_pinned
        self._will(kept)
        self._store.set_pinned(kept.id, kept.is_pinned)
        self._did(kept)

    def _file(self, kept: Kept) -> None:
        kept.folder = self._random.choice(["", "仕事", "recipes"])
        self._will(kept)
        self._store.set_folder(kept.id, kept.folder)
        self._did(kept)

    def _delete_message(self, kept: Kept) -> None:
        """Only one that nothing hangs below and that has no other version: the parent is shown then."""
        leaf = kept.leaf
        if leaf is None or list(kept.parents.values()).count(kept.parents[leaf]) > 1:
            return
        if leaf in kept.parents.values():
            return
        del kept.texts[leaf]
        kept.leaf = kept.parents.pop(leaf)
        self._will(kept)
        self._store.delete_message(leaf)
        self._did(kept)

    def _delete(self, kept: Kept) -> None:
        if self._random.random() < 0.5:
            return
        kept.is_deleted = True
        self._kept.remove(kept)
        self._will(kept)
        self._store.delete(kept.id)
        self._did(kept)

    def _will(self, kept: Kept, extra_text: str | None = None, extra_parent: int | None = None) -> None:
        _say({"will": kept.state(extra_text, extra_parent), "id": kept.id})

    def _did(self, kept: Kept) -> None:
        _say({"did": kept.state(), "id": kept.id})


def _say(values: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def main(path: Path, seed: int) -> None:
    session = Session(HistoryStore(path), seed)
    while True:
        session.step()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
