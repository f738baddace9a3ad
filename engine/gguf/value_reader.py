"""Metadata values; long arrays (vocabularies, merges) are stepped over, not kept."""

from __future__ import annotations

import struct

from engine.gguf.byte_stream import ByteStream
from engine.gguf.model_file import MetadataValue, SkippedArray

LONGEST_KEPT_ARRAY = 1024
_LONGEST_ARRAY = 2 << 20  # the largest vocabularies have a quarter of a million entries
_LONGEST_TEXT_BYTES = 16 << 20  # a chat template takes kilobytes
_BOOL, _STRING, _ARRAY = 7, 8, 9
_FORMATS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "B", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


def read_text(stream: ByteStream) -> str:
    """A length-prefixed UTF-8 string; bytes that are no UTF-8 become U+FFFD."""
    length = stream.unsigned(8)
    stream.expect(length, 1, _LONGEST_TEXT_BYTES, "bytes of text")
    return stream.take(length).decode(errors="replace")


def read_value(stream: ByteStream, value_type: int) -> MetadataValue:
    """One value of the given GGUF type."""
    if value_type == _ARRAY:
        return _read_array(stream)
    return _read_scalar(stream, value_type)


def _read_scalar(stream: ByteStream, value_type: int) -> str | int | float | bool:
    if value_type == _STRING:
        return read_text(stream)
    code = _format(stream, value_type)
    value: int | float = struct.unpack(code, stream.take(struct.calcsize(code)))[0]
    return bool(value) if value_type == _BOOL else value


def _read_array(stream: ByteStream) -> MetadataValue:
    element_type, length = stream.unsigned(4), stream.unsigned(8)
    if element_type == _ARRAY:
        raise stream.damaged("an array holds arrays")
    width = 8 if element_type == _STRING else struct.calcsize(_format(stream, element_type))
    stream.expect(length, width, _LONGEST_ARRAY, "array elements")
    if length <= LONGEST_KEPT_ARRAY:
        return tuple(_read_scalar(stream, element_type) for _ in range(length))
    if element_type == _STRING:
        stream.skip_texts(length)
    else:
        stream.skip(length * width)
    return SkippedArray(length, element_type)


def _format(stream: ByteStream, value_type: int) -> str:
    code = _FORMATS.get(value_type)
    if code is None:
        raise stream.damaged(f"unknown value type {value_type}")
    return f"<{code}"
