"""Words as tokens, for a model that has no tokenizer of its own."""

from __future__ import annotations

import re

N_VOCAB = 8192
END_TOKEN = 0
BEGIN_TOKEN = 1
_FIRST_BYTE_TOKEN = 2
_FIRST_WORD_TOKEN = _FIRST_BYTE_TOKEN + 256
_SPECIAL = {"<|end|>": END_TOKEN, "<|begin|>": BEGIN_TOKEN}
_SPECIAL_PIECE = re.compile("|".join(re.escape(text) for text in _SPECIAL))
# a token is a word with the white space before it, as in most tokenizers; long words are cut
_PIECE = re.compile(r"\s*\S{1,8}|\s+")


class FakeVocabulary:
    """Gives each new piece of text the next id; single bytes when all ids are taken. Lossless."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._pieces: dict[int, bytes] = {}

    def tokenize(self, text: str, parse_special: bool) -> list[int]:
        """Token ids of `text`; "<|end|>" and "<|begin|>" are control tokens if `parse_special`."""
        if not parse_special:
            return self._plain(text)
        tokens: list[int] = []
        position = 0
        for match in _SPECIAL_PIECE.finditer(text):
            tokens += self._plain(text[position : match.start()])
            tokens.append(_SPECIAL[match[0]])
            position = match.end()
        return tokens + self._plain(text[position:])

    def token_bytes(self, token: int) -> bytes:
        """UTF-8 bytes of one token; empty for control tokens and unknown ids."""
        if _FIRST_BYTE_TOKEN <= token < _FIRST_WORD_TOKEN:
            return bytes([token - _FIRST_BYTE_TOKEN])
        return self._pieces.get(token, b"")

    def text(self, tokens: list[int]) -> str:
        """The text of `tokens`, control tokens included by name."""
        names = {token: name.encode() for name, token in _SPECIAL.items()}
        data = b"".join(names.get(token, self.token_bytes(token)) for token in tokens)
        return data.decode("utf-8", "replace")

    def _plain(self, text: str) -> list[int]:
        return [token for piece in _PIECE.findall(text) for token in self._tokens_of(piece)]

    def _tokens_of(self, piece: str) -> list[int]:
        token = self._ids.get(piece)
        if token is None:
            token = _FIRST_WORD_TOKEN + len(self._ids)
            if token >= N_VOCAB:
                return [_FIRST_BYTE_TOKEN + byte for byte in piece.encode()]
            self._ids[piece] = token
            self._pieces[token] = piece.encode()
        return [token]
