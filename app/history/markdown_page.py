"""A conversation as Markdown."""

from __future__ import annotations

import re
from pathlib import PurePath

from app.history.readable import ReadableConversation, ReadableMessage
from app.history.records import Attachment

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def markdown_page(conversation: ReadableConversation) -> str:
    """Messages are Markdown already and stay as they are; a fence that was never closed is closed."""
    blocks = [f"# {_plain(conversation.title)}", conversation.written_at]
    for each in conversation.messages:
        blocks += _message_blocks(each)
    return "\n\n".join(blocks) + "\n"


def _message_blocks(message: ReadableMessage) -> list[str]:
    blocks = [f"## {_plain(message.speaker)}"]
    if message.text:
        blocks.append(_closed(message.text))
    blocks += [_attachment(each) for each in message.attachments]
    if message.ending:
        blocks.append(f"*{message.ending}*")
    return blocks


def _plain(words: str) -> str:
    return _SPECIAL.sub(r"\\\1", words)


def _closed(text: str) -> str:
    """An answer cut off inside a code block must not swallow what follows."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE_LINE.match(line)
        if found is None:
            continue
        marks, rest = found.groups()
        if not fence:
            fence = marks if marks[0] == "~" or "`" not in rest else ""
        elif marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _attachment(attachment: Attachment) -> str:
    longest = max((len(run) for run in re.findall(r"`+", attachment.text)), default=0)
    fence = "`" * max(3, longest + 1)
    kind = re.sub(r"\W", "", PurePath(attachment.name).suffix)
    name = " ".join(attachment.name.split())
    return f"Attached: {_plain(name)}\n\n{fence}{kind}\n{attachment.text.rstrip()}\n{fence}"
