"""The messages of a conversation as a tree: every edit and every new answer begins a branch."""

from __future__ import annotations

from collections.abc import Iterable


class MessageTree:
    """Made of (id, parent id) pairs; a message is younger than its parent. Pure, any thread.

    A parent that is unknown or younger than its child (a damaged file) counts as none.
    """

    def __init__(self, pairs: Iterable[tuple[int, int | None]]) -> None:
        self._parents: dict[int, int | None] = {}
        self._children: dict[int | None, list[int]] = {}
        for message_id, parent_id in sorted(pairs, key=lambda pair: pair[0]):
            # parents come first, so a younger one isn't known yet
            known = parent_id if parent_id in self._parents else None
            self._parents[message_id] = known
            self._children.setdefault(known, []).append(message_id)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._parents

    def parent(self, message_id: int) -> int | None:
        return self._parents[message_id]

    def versions(self, message_id: int) -> tuple[int, ...]:
        """All messages at the place of this one, oldest first."""
        return tuple(self._children[self._parents[message_id]])

    def branch(self, leaf_id: int | None) -> list[int]:
        """From the first message to the leaf; the newest branch if the leaf is unknown."""
        at = leaf_id if leaf_id in self._parents else max(self._parents, default=None)
        path: list[int] = []
        while at is not None:
            path.append(at)
            at = self._parents[at]
        return path[::-1]

    def below(self, message_id: int) -> list[int]:
        """This message and all that hang below it, parents first."""
        found = [message_id]
        for each in found:
            found += self._children.get(each, ())
        return found

    def newest_leaf(self, message_id: int) -> int:
        """Where the branch ends that holds the youngest message below this one."""
        return max(self.below(message_id))

    def leaf_without(self, message_id: int) -> int | None:
        """What the branch ends with once this message is gone: another version, else the parent."""
        versions = self.versions(message_id)
        place = versions.index(message_id)
        neighbours = versions[place - 1 : place] if place else versions[1:2]
        return self.newest_leaf(neighbours[0]) if neighbours else self._parents[message_id]
