"""A message and its attached files as the model reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.history.records import Attachment

_FENCES = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_LANGUAGE = re.compile(r"[a-z0-9+#-]{1,12}")


def fenced(attachment: Attachment) -> str:
    """The file's name and its text in a fence that is longer than any inside."""
    longest = max((len(found) for found in _FENCES.findall(attachment.text)), default=2)
    fence = "`" * (longest + 1)
    ending = attachment.name.rpartition(".")[2].lower() if "." in attachment.name else ""
    language = ending if _LANGUAGE.fullmatch(ending) else ""
    return f"{attachment.name}:\n{fence}{language}\n{attachment.text.rstrip()}\n{fence}"


def with_attachments(text: str, attachments: Sequence[Attachment]) -> str:
    """What a user's message is for the model: the files first, then the words about them."""
    parts = [*(fenced(each) for each in attachments), text]
    return "\n\n".join(part for part in parts if part.strip())
