"""A conversation as a page of HTML that needs nothing else and runs nothing."""

from __future__ import annotations

import re
from html import escape

from app.history.readable import ReadableConversation, ReadableMessage
from app.history.records import Attachment

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="Emberglass">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
article {{ margin: 1.5rem 0; padding: .25rem 1rem; border-inline-start: .2rem solid; }}
article.answer {{ border-color: #b45309; }}
h2 {{ font-size: 1rem; }}
time, .ending {{ font-weight: normal; opacity: .8; }}
.text {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
pre {{ overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p><time>{written_at}</time></p>
{messages}
</body>
</html>
"""


def html_page(conversation: ReadableConversation) -> str:
    """Every text is escaped: a message with HTML in it shows as it was written."""
    return _PAGE.format(
        title=_text(conversation.title),
        written_at=conversation.written_at,
        messages="\n".join(_article(each) for each in conversation.messages),
    )


def _article(message: ReadableMessage) -> str:
    parts = [
        f'<article class="{"answer" if message.is_answer else "question"}">',
        f"<h2>{_text(message.speaker)} <time>{message.written_at}</time></h2>",
        f'<div class="text" dir="auto">{_text(message.text)}</div>',
        *(_attachment(each) for each in message.attachments),
    ]
    if message.ending:
        parts.append(f'<p class="ending">{_text(message.ending)}</p>')
    return "\n".join([*parts, "</article>"])


def _attachment(attachment: Attachment) -> str:
    # a line break right behind <pre> would be swallowed if it were the text's own
    return (
        f"<details><summary>Attached: {_text(attachment.name)}</summary>"
        f"<pre>\n{_text(attachment.text)}</pre></details>"
    )


def _text(words: str) -> str:
    return escape(_CONTROLS.sub("\ufffd", words))
