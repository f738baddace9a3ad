"""Sequential little-endian reading of a file that may be cut off or damaged anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from engine.errors import ModelFileError
from engine.gguf.file_faults import NEW_COPY

_BLOCK_BYTES = 1 << 20
_PLAUSIBLE_COUNT = 1 << 24  # above it a count is damage, below it the file was cut off


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
        self.expect(count, 1, "bytes")
        while len(self._block) - self._at < count:
            self._fill(count)
        start, self._at = self._at, self._at + count
        return self._block[start : self._at]

    def _fill(self, count: int) -> None:
        self._consumed += self._at
        more = self._file.read(max(_BLOCK_BYTES, count))
        if not more:
            raise self._cut_off()
        self._block, self._at = self._block[self._at :] + more, 0

    def unsigned(self, width: int) -> int:
        """An unsigned integer of `width` bytes."""
        block, start = self._block, self._at
        if len(block) - start >= width:  # the vocabulary makes this a hot path
            self._at = start + width
            return int.from_bytes(block[start : start + width], "little")
        return int.from_bytes(self.take(width), "little")

    def skip(self, count: int) -> None:
        """Step over `count` bytes."""
        if len(self._block) - self._at >= count:
            self._at += count
            return
        self.expect(count, 1, "bytes")
        beyond = count - (len(self._block) - self._at)
        self._file.seek(beyond, 1)
        self._consumed += len(self._block) + beyond
        self._block, self._at = b"", 0

    def expect(self, count: int, least_bytes: int, what: str) -> None:
        """Raise unless `count` items of at least `least_bytes` each can still follow."""
        left = self._size_bytes - self.position
        if count * least_bytes > left:
            if least_bytes == 1 or count < _PLAUSIBLE_COUNT:
                raise self._cut_off()
            raise self.damaged(f"it announces {count} {what}, more than the file can hold")

    def _cut_off(self) -> ModelFileError:
        return ModelFileError(
            f"{self._path.name} ends in the middle of its header ({self._size_bytes} bytes).",
            "The download was not completed. " + NEW_COPY,
        )

    def damaged(self, what: str) -> ModelFileError:
        """A fault of the header's content."""
        return ModelFileError(f"{self._path.name}: the header is damaged: {what}.", NEW_COPY)
