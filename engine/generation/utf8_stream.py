"""Bytes of tokens in, whole characters out."""

from __future__ import annotations

import codecs


class Utf8Stream:
    """Holds back the bytes of an unfinished character; invalid bytes become U+FFFD at once."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, data: bytes) -> str:
        """The characters that are complete after `data`; may be empty."""
        return self._decoder.decode(data)

    def flush(self) -> str:
        """U+FFFD for an unfinished character, else empty."""
        return self._decoder.decode(b"", final=True)
