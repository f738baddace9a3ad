"""Drafts as one text in the store."""

from __future__ import annotations

import pytest

from app.chat.drafts import Draft, decoded, encoded
from app.chat.outgoing import Outgoing
from app.history.records import Attachment

FILE = Attachment("ノート.txt", 'a\n"b"')


def test_plain_text_is_stored_as_it_is() -> None:
    assert encoded(Draft(Outgoing("専門 text"))) == "専門 text"
    assert decoded("専門 text") == Draft(Outgoing("専門 text"))
    assert encoded(Draft()) == ""


@pytest.mark.parametrize(
    "draft",
    [
        Draft(Outgoing("text", (FILE,))),
        Draft(Outgoing(), (Outgoing("first"), Outgoing("", (FILE, FILE)))),
        Draft(Outgoing('{"emberglass_draft":1}')),
    ],
)
def test_everything_else_comes_back(draft: Draft) -> None:
    assert decoded(encoded(draft)) == draft


@pytest.mark.parametrize(
    "text",
    [
        '{"emberglass_draft":', '{"emberglass_draft":1}', '{"emberglass_draft":1,"queued":3}',
        '{"emberglass_draft":1,"text":"a","attachments":[3],"queued":[]}',
    ],
)  # fmt: skip
def test_a_damaged_draft_is_shown_as_text(text: str) -> None:
    assert decoded(text) == Draft(Outgoing(text))
