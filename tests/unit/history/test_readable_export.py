"""Markdown and HTML for readers: the shown branch, nothing that runs, nothing that breaks the page."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from app.history.export import export_html, export_markdown
from app.history.records import Attachment
from app.history.store import HistoryStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sets the time zone as on Unix")


@pytest.fixture(autouse=True)
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def talk(store: HistoryStore) -> HistoryStore:
    store.create_conversation("Trip *to*\n京都")
    store.add_user_message(1, "What?\n\n- a\n- b", (Attachment("run.py", "print('```')\n"),))
    hidden = store.begin_answer(1, "moe_1")
    store.finish_answer(hidden.id, "hidden version", "complete", {})
    shown = store.begin_answer(1, "moe_1", parent_id=1)
    store.finish_answer(shown.id, "<think>hm</think>See:\n\n```python\nx = 1", "stopped", {})
    return store


MARKDOWN = """# Trip \\*to\\* 京都

2027-01-15 17:00

## You

What?

- a
- b

Attached: run.py

````py
print('```')
````

## moe\\_1

See:

```python
x = 1
```

*Stopped before the end.*
"""


def visible(text: str) -> str:
    return text.replace("<think>hm</think>", "")


def test_markdown_shows_the_branch_and_closes_what_was_cut_off(talk: HistoryStore) -> None:
    assert export_markdown(talk, 1, visible) == MARKDOWN


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("a ``` b", "a ``` b"),
        ("~~~\n```", "~~~\n```\n~~~"),
        ("````\n```\nx", "````\n```\nx\n````"),
        ("```\nx\n```", "```\nx\n```"),
        ("```\nx\n```py", "```\nx\n```py\n```"),
        ("``` a`b", "``` a`b"),
        ("    ```", "    ```"),
    ],
)
def test_only_open_fences_are_closed(store: HistoryStore, text: str, closed: str) -> None:
    store.create_conversation("t")
    store.add_user_message(1, text)
    assert export_markdown(store, 1) == f"# t\n\n2027-01-15 17:00\n\n## You\n\n{closed}\n"


def test_conversation_without_words_has_a_page(store: HistoryStore) -> None:
    store.create_conversation()
    assert export_markdown(store, 1) == "# Conversation\n\n2027-01-15 17:00\n"
    assert "<h1>Conversation</h1>" in export_html(store, 1)


class Page(HTMLParser):
    """All tags with their attributes, and the text of each article."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


EVIL = "<script>alert(1)</script><img src=https://example.org/x onerror=a()> & \"quoted\" 'it' </div>\0"


def test_html_shows_every_text_as_it_was_written(store: HistoryStore) -> None:
    store.create_conversation(EVIL)
    store.add_user_message(1, EVIL, (Attachment(EVIL, EVIL),))
    answer = store.begin_answer(1, EVIL)
    store.finish_answer(answer.id, EVIL, "complete", {})
    page = Page(export_html(store, 1))
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href", "onerror")]
    shown = EVIL.replace("\0", "\ufffd")
    assert "".join(page.texts).count(shown) == 7  # title twice, two messages, a name, a file, a model
    assert page.tags.count("article") == 2


def test_html_has_breaks_files_and_endings(talk: HistoryStore) -> None:
    page = export_html(talk, 1, visible)
    assert '<div class="text" dir="auto">What?\n\n- a\n- b</div>' in page
    assert "<pre>\nprint(&#x27;```&#x27;)\n</pre>" in page
    assert "Stopped before the end." in page
    assert "hidden version" not in page
    assert "think" not in page
    assert "default-src 'none'" in page
