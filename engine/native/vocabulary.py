"""Tokens and text through llama.cpp's vocabulary."""

from __future__ import annotations

import ctypes as c
from typing import Any

from llama_cpp import llama_cpp as ll

from engine.errors import NativeError

_CONTROL = 8  # LLAMA_TOKEN_ATTR_CONTROL


class Vocabulary:
    """Tokeniser of one model; valid while the model lives."""

    def __init__(self, handle: Any) -> None:  # noqa: ANN401 - an opaque pointer of llama_cpp
        self._handle = handle

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids of `text`."""
        data = text.encode(errors="replace")
        size = len(data) + 8
        while True:
            tokens = (ll.llama_token * size)()
            count = ll.llama_tokenize(self._handle, data, len(data), tokens, size, add_special, parse_special)
            if count >= 0:
                return list(tokens[:count])
            if -count <= size:
                raise NativeError("llama.cpp could not tokenise the text.", "")
            size = -count

    def token_bytes(self, token: int) -> bytes:
        """Bytes of one token; empty for control tokens."""
        if ll.llama_vocab_get_attr(self._handle, token) & _CONTROL:
            return b""
        return self._piece(token, False)

    def special_text(self, name: str) -> str:
        """Text of the "bos" or "eos" token, empty if the model has none."""
        token = {"bos": ll.llama_vocab_bos, "eos": ll.llama_vocab_eos}[name](self._handle)
        return "" if token < 0 else self._piece(token, True).decode(errors="replace")

    def is_end_token(self, token: int) -> bool:
        """Whether generation ends at this token."""
        return bool(ll.llama_vocab_is_eog(self._handle, token))

    def _piece(self, token: int, with_special: bool) -> bytes:
        size = 64
        while True:
            buffer = c.create_string_buffer(size)
            count = ll.llama_token_to_piece(self._handle, token, buffer, size, 0, with_special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count
