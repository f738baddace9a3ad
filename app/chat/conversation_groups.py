"""How the list of conversations is divided: pinned ones on top, then folders, then the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from app.history.records import Conversation


class GroupKind(Enum):
    """What puts conversations together."""

    PINNED = "pinned"
    FOLDER = "folder"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Group:
    """`title` is empty for the only group of a list that needs no headings."""

    kind: GroupKind
    title: str
    conversations: tuple[Conversation, ...]

    @property
    def folder(self) -> str:
        """Where a conversation goes that is dropped here."""
        return self.title if self.kind is GroupKind.FOLDER else ""


def grouped(conversations: Sequence[Conversation]) -> list[Group]:
    """No group is empty; inside each the given order stays. Folders are sorted by name."""
    pinned = tuple(each for each in conversations if each.is_pinned)
    rest = [each for each in conversations if not each.is_pinned]
    folders = sorted({each.folder for each in rest if each.folder}, key=lambda name: (name.casefold(), name))
    others = tuple(each for each in rest if not each.folder)
    if not pinned and not folders:
        return [Group(GroupKind.OTHERS, "", others)] if others else []
    groups = [Group(GroupKind.PINNED, "Pinned", pinned)]
    groups += [
        Group(GroupKind.FOLDER, name, tuple(each for each in rest if each.folder == name)) for name in folders
    ]
    groups.append(Group(GroupKind.OTHERS, "Other conversations", others))
    return [group for group in groups if group.conversations]
