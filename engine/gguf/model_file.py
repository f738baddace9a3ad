"""What a GGUF model file says about itself, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SkippedArray:
    """A long metadata array (a vocabulary, merges) that was stepped over, not kept."""

    length: int
    element_type: int


MetadataValue = str | int | float | bool | tuple[str | int | float | bool, ...] | SkippedArray


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: `shape` in ggml order (fastest dimension first), offset absolute in its shard."""

    name: str
    type_name: str
    shape: tuple[int, ...]
    shard: int
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a model."""

    path: Path
    size_bytes: int
    alignment_bytes: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Header, metadata and tensor table of all shards; the first shard's metadata rules."""

    path: Path
    version: int
    shards: tuple[Shard, ...]
    metadata: Mapping[str, MetadataValue]
    tensors: tuple[TensorInfo, ...]

    @property
    def size_bytes(self) -> int:
        return sum(shard.size_bytes for shard in self.shards)

    @property
    def architecture(self) -> str:
        return self.text("general.architecture")

    def text(self, key: str, default: str = "") -> str:
        """String metadata, or the default when it is absent or of another type."""
        value = self.metadata.get(key, default)
        return value if isinstance(value, str) else default

    def number(self, key: str, default: int = 0) -> int:
        """Integer metadata of `<architecture>.<key>`; the maximum of a per-layer array.

        The default where it is absent or no integer.
        """
        value = self.metadata.get(f"{self.architecture}.{key}", default)
        if isinstance(value, tuple):
            value = max((int(v) for v in value if isinstance(v, int)), default=default)
        return int(value) if isinstance(value, int) else default
