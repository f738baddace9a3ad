"""Which files are taken as text, how they are decoded and what the user is told otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.chat.attachment_files import MOST_BYTES, AttachmentRefusedError, read_attachment, text_of

JAPANESE = "専門家の混合モデルについて、かなと漢字で書かれた文章。\n半角ｶﾅも少し。"
CHINESE = "专家混合模型的说明:每一层只选用少数几个专家,其余的留在磁盘上。\n第二行。"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain\n", "plain\n"),
        ("größer — 専門 🙂".encode(), "größer — 専門 🙂"),
        ("\ufeffwith mark".encode(), "with mark"),
        ("UTF-16 専門".encode("utf-16"), "UTF-16 専門"),
        (b"\xfe\xff" + "big end".encode("utf-16-be"), "big end"),
        ("UTF-32".encode("utf-32"), "UTF-32"),
        (JAPANESE.encode("cp932"), JAPANESE),
        (CHINESE.encode("gb18030"), CHINESE),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\x1b[31mred\x1b[0m log\n", "\x1b[31mred\x1b[0m log\n"),
    ],
    ids=[
        "ascii", "utf-8", "utf-8 mark", "utf-16", "utf-16 big", "utf-32", "shift-jis", "gb18030", "line ends",
        "escape codes",
    ],
)  # fmt: skip
def test_text_is_decoded(data: bytes, expected: str) -> None:
    assert text_of(data, "a.txt") == expected


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "not a text file"),
        (b"\x89PNG\r\n\x1a\n", "not a text file"),
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"caf\xff and more \xff\xff", "unknown encoding"),
        ("größer als möglich, süß".encode("latin-1"), "unknown encoding"),
        ("cut".encode("utf-16") + b"x", "unknown encoding"),
        (b"x" * (MOST_BYTES + 1), "larger than 1 MiB"),
    ],
)
def test_what_is_no_text_is_refused_in_words(data: bytes, fault: str) -> None:
    with pytest.raises(AttachmentRefusedError) as caught:
        text_of(data, "thing.bin")
    assert "“thing.bin”" in caught.value.fault
    assert fault in caught.value.fault
    assert caught.value.next_step.endswith(".")


def test_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "ノート 1.md"
    path.write_text("# Title\n", "utf-8")
    attachment = read_attachment(path)
    assert (attachment.name, attachment.text) == ("ノート 1.md", "# Title\n")


def test_the_largest_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"x" * MOST_BYTES)
    assert len(read_attachment(path).text) == MOST_BYTES


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AttachmentRefusedError, match="is a folder"):
        read_attachment(tmp_path)
    with pytest.raises(AttachmentRefusedError, match="can’t be read: No such file"):
        read_attachment(tmp_path / "gone.txt")
