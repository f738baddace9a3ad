"""Text files as attachments: what is taken, how it is decoded, and why something is refused."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from app.history.records import Attachment
from engine.config import MIB, format_size

MOST_BYTES = MIB
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# control characters that no text file has; tab, line ends, form feed and escape are seen in logs
_BINARY = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_HALF_WIDTH_KATAKANA = re.compile("[\uff61-\uff9f]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]")
_INSIDE_A_WORD = re.compile(r"[A-Za-z][^\x00-\x7f]{1,2}(?=[A-Za-z])")
_MOST_HALF_WIDTH_SHARE, _MOST_INSIDE_SHARE = 0.2, 0.3


class AttachmentRefusedError(Exception):
    """A file that can't be attached; `fault` and `next_step` are for the user."""

    def __init__(self, fault: str, next_step: str) -> None:
        super().__init__(f"{fault} {next_step}")
        self.fault = fault
        self.next_step = next_step


def read_attachment(path: Path) -> Attachment:
    """The text of a file of at most MOST_BYTES; raises AttachmentRefusedError."""
    name = path.name
    try:
        if path.is_dir():
            raise AttachmentRefusedError(f"“{name}” is a folder.", "Attach the files in it one by one.")
        with path.open("rb") as file:
            # one byte more than allowed tells a longer file, without trusting its reported size
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise AttachmentRefusedError(
            f"“{name}” can’t be read: {reason}.", "Check that it is still there and that you may read it."
        ) from error
    return Attachment(name, text_of(data, name))


def text_of(data: bytes, name: str) -> str:
    """The text of a file's bytes with plain line ends; raises AttachmentRefusedError."""
    if len(data) > MOST_BYTES:
        raise AttachmentRefusedError(
            f"“{name}” is larger than {format_size(MOST_BYTES)}.", "Attach the part of it that matters."
        )
    text = _decoded(data, name)
    if not text.strip():
        raise AttachmentRefusedError(f"“{name}” is empty.", "Attach a file with text in it.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, name: str) -> str:
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), None)
    if encoding is None and _BINARY.search(data):
        raise AttachmentRefusedError(
            f"“{name}” is not a text file.", "Only text can be attached: notes, code, tables, logs."
        )
    text = _strict(data, encoding or "utf-8")
    if text is None and encoding is None:
        text = _east_asian(data)
    if text is None:
        raise AttachmentRefusedError(
            f"The text of “{name}” is in an unknown encoding.", "Save it as UTF-8 and attach it again."
        )
    return text


def _east_asian(data: bytes) -> str | None:
    """Shift-JIS or GB18030, if the text then looks like it. Where both decode, Chinese text read as Shift-JIS
    betrays itself by a crowd of half-width katakana.
    """
    japanese, chinese = (_plausible(data, encoding) for encoding in ("cp932", "gb18030"))
    if japanese is None or chinese is None:
        return chinese if japanese is None else japanese
    foreign = len(_NOT_ASCII.findall(japanese))
    half_width = len(_HALF_WIDTH_KATAKANA.findall(japanese))
    return chinese if half_width > _MOST_HALF_WIDTH_SHARE * foreign else japanese


def _plausible(data: bytes, encoding: str) -> str | None:
    """None for text that decodes by accident: “größe” in Latin-1 is “gr鲞e” in GB18030."""
    text = _strict(data, encoding)
    if text is None or _PRIVATE_USE.search(text):
        return None
    is_accident = len(_INSIDE_A_WORD.findall(text)) > _MOST_INSIDE_SHARE * len(_NOT_ASCII.findall(text))
    return None if is_accident else text


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
