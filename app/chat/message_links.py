"""What can be done with a message, as links under it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QTextCursor

from app.chat.block_pen import own_link
from app.chat.inline_styles import InlineStyles
from app.history.records import Message

COPY, EDIT, AGAIN, CONTINUE = "copy", "edit", "again", "continue"
VERSION, DETAILS, DELETE = "version", "details", "delete"
_GAP = "   "


@dataclass(frozen=True, slots=True)
class MessageLink:
    """`number` is the message that the action is about."""

    words: str
    action: str
    number: int


def links_of(message: Message, is_live: bool, is_last: bool) -> list[MessageLink]:
    """What is offered; an answer in the making can only be copied."""
    links = [MessageLink("Copy", COPY, message.id)]
    if is_live:
        return links
    if message.role == "user":
        links.append(MessageLink("Edit", EDIT, message.id))
        if is_last:
            links.append(MessageLink("Get an answer", AGAIN, message.id))
    else:
        links.append(MessageLink("Answer again", AGAIN, message.id))
        if is_last:
            links.append(MessageLink("Continue", CONTINUE, message.id))
        links.append(MessageLink("Details", DETAILS, message.id))
    return [*links, MessageLink("Delete", DELETE, message.id)]


def write_links(
    cursor: QTextCursor, message: Message, styles: InlineStyles, is_live: bool, is_last: bool
) -> None:
    """Write the links, version arrows first, at the cursor."""
    if not is_live:
        _write_versions(cursor, message, styles)
    for place, link in enumerate(links_of(message, is_live, is_last)):
        if place:
            cursor.insertText(_GAP, styles.own_words())
        cursor.insertText(link.words, styles.own_link(own_link(link.action, link.number)))


def _write_versions(cursor: QTextCursor, message: Message, styles: InlineStyles) -> None:
    """‹ 2/3 ›, each arrow a link while there is a version on its side."""
    versions = message.sibling_ids
    if len(versions) < 2 or message.id not in versions:
        return
    place = versions.index(message.id)
    for sign, neighbour in (("‹", place - 1), (f" {place + 1}/{len(versions)} ", -1), ("›", place + 1)):
        is_link = 0 <= neighbour < len(versions)
        style = styles.own_link(own_link(VERSION, versions[neighbour])) if is_link else styles.own_words()
        cursor.insertText(sign, style)
    cursor.insertText(_GAP, styles.own_words())
