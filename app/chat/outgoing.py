"""What the user is about to say."""

from __future__ import annotations

from dataclasses import dataclass

from app.history.records import Attachment, Message


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Text and files of a message that isn't in the conversation yet."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to send."""
        return not self.text.strip() and not self.attachments


def outgoing_of(message: Message) -> Outgoing:
    """A message taken back, or to be edited."""
    return Outgoing(message.text, message.attachments)
