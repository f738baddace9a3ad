"""Write model files of random weights: the shapes, types and reads of a real model, but no meaning."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import numpy as np
from gguf import GGUFWriter

from engine.config import MIB, format_size
from engine.errors import EngineError, UsageError
from engine.gguf.synthetic_architectures import architecture, metadata, tensors
from engine.gguf.synthetic_blocks import BlockPool
from engine.gguf.synthetic_spec import LAYOUTS, Fill, SyntheticSpec, TensorPlan
from engine.gguf.synthetic_vocabulary import add_vocabulary

__all__ = ["LAYOUTS", "SyntheticSpec", "model_bytes", "write_model"]

ALIGNMENT_BYTES = 32  # GGUF's default; real files have it too
_REPORT_BYTES = 4 * MIB
Progress = Callable[[int, int], None]


def model_bytes(spec: SyntheticSpec) -> int:
    """Bytes of the model's weights, before anything is written; raises UsageError for impossible shapes."""
    return sum(plan.size_bytes for plan in tensors(spec))


def write_model(spec: SyntheticSpec, path: Path, progress: Progress | None = None) -> tuple[Path, ...]:
    """Write the model and return its files: `path`, or its "-00001-of-0000N" shards.

    Existing files of these names are replaced at the very end. `progress` is called on this thread, every
    few megabytes, with the bytes done and in total; what it raises stops the write. Memory doesn't grow
    with the size of the file.
    Raises UsageError for impossible shapes or places, EngineError when the disk fails or is too small.
    """
    shards = _shards(tensors(spec), spec.shards)
    paths = _shard_paths(path, len(shards))
    parts = tuple(p.with_name(p.name + ".part") for p in paths)
    try:
        _check_room(path, sum(plan.size_bytes for shard in shards for plan in shard))
        body = _Body(spec, shards, progress)
        for index, part in enumerate(parts):
            _write_head(spec, part, shards, index)
            body.append_to(part, shards[index])
        for part, final in zip(parts, paths, strict=True):
            part.replace(final)
    except OSError as error:
        raise _write_fault(path, error) from error
    finally:
        for part in parts:
            _discard(part)
    return paths


def _shards(plans: tuple[TensorPlan, ...], count: int) -> tuple[tuple[TensorPlan, ...], ...]:
    """Cut the tensors, in order, into `count` runs of about equal size, none of them empty."""
    if count > len(plans):
        raise UsageError(f"{len(plans)} tensors can't fill {count} shards.", "Ask for fewer shards.")
    total_bytes, done_bytes = sum(p.size_bytes for p in plans), 0
    shards: list[list[TensorPlan]] = [[]]
    for index, plan in enumerate(plans):
        is_full = done_bytes * count >= total_bytes * len(shards)
        must_open = len(plans) - index <= count - len(shards)
        if shards[-1] and len(shards) < count and (is_full or must_open):
            shards.append([])
        shards[-1].append(plan)
        done_bytes += plan.size_bytes
    return tuple(tuple(shard) for shard in shards)


def _shard_paths(path: Path, count: int) -> tuple[Path, ...]:
    if count == 1:
        return (path,)
    stem = path.name.removesuffix(".gguf")
    return tuple(path.with_name(f"{stem}-{i + 1:05d}-of-{count:05d}.gguf") for i in range(count))


def _check_room(path: Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(path.parent).free
    if free_bytes < needed_bytes:
        raise EngineError(
            f"The model needs {format_size(needed_bytes)}; only {format_size(free_bytes)} are free there.",
            "Free some space, choose another disk or a smaller model.",
        )


def _write_head(
    spec: SyntheticSpec, part: Path, shards: tuple[tuple[TensorPlan, ...], ...], index: int
) -> None:
    """Header, metadata and tensor table of shard `index`; the first shard carries the model's metadata."""
    writer = GGUFWriter(None, architecture(spec))
    try:
        if index == 0:
            _add_metadata(writer, spec)
        if len(shards) > 1:
            writer.add_uint16("split.no", index)
            writer.add_uint16("split.count", len(shards))
            writer.add_int32("split.tensors.count", sum(len(shard) for shard in shards))
        for plan in shards[index]:
            writer.add_tensor_info(plan.name, plan.shape, np.dtype(np.float32), plan.size_bytes, plan.type)
        writer.write_header_to_file(part)
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
    finally:
        writer.close()


def _add_metadata(writer: GGUFWriter, spec: SyntheticSpec) -> None:
    writer.add_name(f"synthetic {spec.layout} {spec.n_layer}x{spec.n_expert}")
    writer.add_description("Random weights for tests and measurements; its answers have no meaning.")
    for key, value in metadata(spec).items():
        full_key = f"{architecture(spec)}.{key}"
        if isinstance(value, tuple):
            writer.add_array(full_key, list(value))
        elif isinstance(value, bool):
            writer.add_bool(full_key, value)
        elif isinstance(value, int):
            writer.add_uint32(full_key, value)
        else:
            writer.add_float32(full_key, value)
    add_vocabulary(writer, spec.n_vocab)


class _Body:
    """Appends tensor data to the shards, one after the other, and reports the bytes done."""

    def __init__(
        self, spec: SyntheticSpec, shards: tuple[tuple[TensorPlan, ...], ...], progress: Progress | None
    ) -> None:
        self._spec = spec
        self._progress = progress
        self._done_bytes = 0
        self._reported_bytes = 0
        self._total_bytes = sum(plan.size_bytes for shard in shards for plan in shard)
        self._pools: dict[tuple[str, float], BlockPool] = {}

    def append_to(self, part: Path, plans: tuple[TensorPlan, ...]) -> None:
        with part.open("ab") as file:
            for plan in plans:
                _pad(file)
                self._write_tensor(file, plan)
            _pad(file)

    def _write_tensor(self, file: BinaryIO, plan: TensorPlan) -> None:
        for piece in self._pieces(plan):
            file.write(piece)
            self._done_bytes += len(piece)
            if self._done_bytes - self._reported_bytes >= _REPORT_BYTES:
                self._report()
        self._report()

    def _report(self) -> None:
        self._reported_bytes = self._done_bytes
        if self._progress is not None:
            self._progress(self._done_bytes, self._total_bytes)

    def _pieces(self, plan: TensorPlan) -> Iterator[memoryview | bytes]:
        # seeded by name: a tensor's bytes don't depend on what else the file holds, or on its shards
        random = np.random.default_rng((self._spec.seed, crc32(plan.name.encode())))
        if plan.fill is not Fill.BLOCKS:
            yield _plain_values(plan, self._spec.skew, random)
            return
        blank_bytes = plan.blank_rows * plan.row_bytes
        slice_bytes = plan.size_bytes // plan.slice_count - blank_bytes
        yield from self._pool(plan).slices(plan.slice_count, slice_bytes, random)
        if blank_bytes:
            yield bytes(blank_bytes)

    def _pool(self, plan: TensorPlan) -> BlockPool:
        key = (plan.type_name, plan.scale)
        if key not in self._pools:
            self._pools[key] = BlockPool(plan.type, plan.scale, self._spec.seed)
        return self._pools[key]


def _plain_values(plan: TensorPlan, skew: float, random: np.random.Generator) -> bytes:
    """F32 values of a norm, bias or router."""
    if plan.fill is Fill.ONES:
        return np.ones(plan.shape, "<f4").tobytes()
    values = random.standard_normal(plan.shape) * plan.scale
    if plan.fill is Fill.ROUTER:
        # longer rows win the top-k more often; dividing by their root mean square keeps the logits' spread
        lengths = np.exp(skew * random.standard_normal((plan.shape[0], 1)))
        values *= lengths / np.sqrt(np.mean(lengths**2))
    return values.astype("<f4").tobytes()


def _pad(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % ALIGNMENT_BYTES))


def _discard(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return  # the folder is gone or read-only: nothing of ours can be there


def _write_fault(path: Path, error: OSError) -> EngineError:
    detail = str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return EngineError(
            f"The disk is full; “{path}” was not written.", "Free some space and try again.", detail
        )
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return UsageError(
            f"There is no folder “{path.parent}”.", "Create it or choose another place.", detail
        )
    if isinstance(error, (PermissionError, IsADirectoryError)):
        return UsageError(f"“{path}” can't be written.", "Choose a place you may write to.", detail)
    return EngineError(f"Writing “{path}” failed.", "Check the disk and try again.", detail)
