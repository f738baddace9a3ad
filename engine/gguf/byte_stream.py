"""Sequential little-endian reading of a header that may be cut off or damaged anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from engine.errors import ModelFileError
from engine.gguf.file_faults import NEW_COPY, cut_off, shown

_BLOCK_BYTES = 1 << 20
# headers with the largest vocabularies take some 20 MB; a damaged length must not lead us through the weights
_LARGEST_HEADER_BYTES = 256 << 20
_LENGTH_BYTES = 8


class ByteStream:
    """Reads in large blocks; every fault names the file. Not thread-safe."""

    def __init__(self, file: BinaryIO, path: Path, size_bytes: int) -> None:
        self._file, self._path, self._size_bytes = file, path, size_bytes
        self._block, self._at, self._consumed = b"", 0, 0

    @property
    def position(self) -> int:
        """Bytes taken so far."""
        return self._consumed + self._at

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        self._ensure(count)
        start, self._at = self._at, self._at + count
        return self._block[start : self._at]

    def unsigned(self, width: int) -> int:
        """An unsigned integer of `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def skip(self, count: int) -> None:
        """Step over `count` bytes without reading those that are not in memory yet."""
        beyond = count - (len(self._block) - self._at)
        if beyond <= 0:
            self._at += count
            return
        self._expect_bytes(count)
        self._file.seek(beyond, 1)
        self._consumed += len(self._block) + beyond
        self._block, self._at = b"", 0

    def skip_texts(self, count: int) -> None:
        """Step over `count` length-prefixed texts: vocabularies have hundreds of thousands."""
        while count:
            self._ensure(_LENGTH_BYTES)
            count = self._skip_texts_in_block(count)
            if count:  # the next text reaches beyond the block
                self.skip(self.unsigned(_LENGTH_BYTES))
                count -= 1

    def _skip_texts_in_block(self, count: int) -> int:
        block, at, end = self._block, self._at, len(self._block)
        from_bytes = int.from_bytes
        while count:
            after = at + _LENGTH_BYTES
            if after > end:
                break
            after += from_bytes(block[at : at + _LENGTH_BYTES], "little")
            if after > end:
                break
            at = after
            count -= 1
        self._at = at
        return count

    def expect(self, count: int, least_bytes: int, most: int, what: str) -> None:
        """Raise unless `count` items of at least `least_bytes` each can still follow, `most` at most."""
        if count > most:
            raise self.damaged(f"it announces {count} {what}")
        if count * least_bytes > self._size_bytes - self.position:
            raise cut_off(self._path, self._size_bytes)

    def damaged(self, what: str) -> ModelFileError:
        """A fault of the header's content."""
        return ModelFileError(f"{shown(self._path)}: the header is damaged: {what}.", NEW_COPY)

    def _ensure(self, count: int) -> None:
        if len(self._block) - self._at >= count:
            return
        self._expect_bytes(count)
        self._consumed += self._at
        self._block, self._at = self._block[self._at :], 0
        while len(self._block) < count:
            more = self._file.read(max(_BLOCK_BYTES, count))
            if not more:  # the file shrank meanwhile
                raise cut_off(self._path, self._size_bytes)
            self._block += more

    def _expect_bytes(self, count: int) -> None:
        if self.position + count > self._size_bytes:
            raise cut_off(self._path, self._size_bytes)
        if self.position + count > _LARGEST_HEADER_BYTES:
            raise self.damaged(f"it is longer than {_LARGEST_HEADER_BYTES >> 20} MiB")
