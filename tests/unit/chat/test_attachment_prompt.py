"""Files as the model reads them."""

from __future__ import annotations

import pytest

from app.chat.attachment_prompt import fenced, with_attachments
from app.history.records import Attachment


def test_a_file_stands_in_a_fence_under_its_name() -> None:
    assert fenced(Attachment("a.py", "x = 1\n\n")) == "a.py:\n```py\nx = 1\n```"


def test_the_fence_is_longer_than_any_inside() -> None:
    text = "Look:\n````md\n```py\nx\n```\n````\n"
    assert fenced(Attachment("notes.md", text)) == f"notes.md:\n`````md\n{text.rstrip()}\n`````"


@pytest.mark.parametrize("name", ["README", "odd.name with space", "a.äö", "archive."])
def test_an_odd_ending_is_no_language(name: str) -> None:
    assert fenced(Attachment(name, "x")) == f"{name}:\n```\nx\n```"


def test_files_come_before_the_words_about_them() -> None:
    files = (Attachment("a.txt", "A"), Attachment("b.txt", "B"))
    assert (
        with_attachments("Compare.", files) == "a.txt:\n```txt\nA\n```\n\nb.txt:\n```txt\nB\n```\n\nCompare."
    )
    assert with_attachments("  ", files[:1]) == "a.txt:\n```txt\nA\n```"
    assert with_attachments("Only words", ()) == "Only words"
