"""How fast the drive gives exactly what the engine asks of it: random expert slices, past the page cache."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from engine.errors import DiskReadError

_PAGE = mmap.PAGESIZE
_HUGE_PAGE = 2 << 20
# All threads together: far more than a processor cache. Into one small hot buffer a virtual drive copies a
# quarter faster than into any memory that could hold experts.
_TARGET_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """Bytes to read; rounded outwards to whole pages."""

    path: Path
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DriveRate:
    """Bytes that came while `elapsed_ns` passed; `is_direct` False: the page cache may have helped."""

    bytes_read: int
    elapsed_ns: int
    is_direct: bool

    @property
    def bytes_per_second(self) -> float:
        return self.bytes_read * 1e9 / self.elapsed_ns if self.elapsed_ns else 0.0


def measure_drive_rate(spans: Sequence[ReadSpan], queue_depth: int, least_seconds: float = 1.0) -> DriveRate:
    """Read `spans` over and over from `queue_depth` threads for about `least_seconds`; blocks that long.

    Each thread reads into places of its own that are used again and again, as expert slots are: resident
    huge pages (fresh memory would cost more than many drives), too many for the processor's cache. Raises
    DiskReadError when a read fails.
    """
    with ExitStack() as stack:
        files = _Files(sorted({span.path for span in spans}), stack)
        run = _Run(files, spans, queue_depth, least_seconds)
        threads = [
            threading.Thread(target=run.work, name=f"drive-rate-{index}") for index in range(queue_depth)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return run.result()


class _Files:
    """Descriptors by path, all direct or all buffered."""

    def __init__(self, paths: Sequence[Path], stack: ExitStack) -> None:
        self.is_direct = hasattr(os, "O_DIRECT")
        self.descriptors: dict[Path, int] = {}
        for path in paths:
            try:
                self.descriptors[path] = self._open(path)
            except OSError as error:
                raise _fault(path, error) from error
            stack.callback(os.close, self.descriptors[path])

    def _open(self, path: Path) -> int:
        if self.is_direct:
            descriptor = -1
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
                with mmap.mmap(-1, _PAGE) as page:
                    os.preadv(descriptor, [page], 0)
                return descriptor
            except OSError:  # tmpfs and some others accept the flag only to fail at the first read
                self.is_direct = False
                if descriptor >= 0:
                    os.close(descriptor)
        return os.open(path, os.O_RDONLY)

    def read(self, span: ReadSpan, target: memoryview) -> int:
        """Read one span and leave nothing of it in the page cache."""
        start = span.offset_bytes // _PAGE * _PAGE
        length = _padded_bytes(span)
        descriptor = self.descriptors[span.path]
        try:
            with target[:length] as part:  # released even if an error keeps this frame alive
                got = os.preadv(descriptor, [part], start)
        except OSError as error:
            raise _fault(span.path, error) from error
        if not self.is_direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)
        return got


class _Run:
    """One measurement, shared by its threads."""

    def __init__(
        self, files: _Files, spans: Sequence[ReadSpan], queue_depth: int, least_seconds: float
    ) -> None:
        self._files = files
        self._spans: Iterator[ReadSpan] = itertools.cycle(spans)
        self._place_bytes = max(_padded_bytes(span) for span in spans)
        self._places = max(1, _TARGET_BYTES // queue_depth // self._place_bytes)
        self._least_ns = int(least_seconds * 1e9)
        self._start = threading.Barrier(queue_depth, action=self._note_start)
        self._lock = threading.Lock()
        self._start_ns = self._end_ns = self._bytes = 0
        self._error: DiskReadError | None = None

    def work(self) -> None:
        """Body of one thread: its memory is made resident, then the clock starts for all."""
        memory, buffer = _huge_buffer(self._place_bytes * self._places)
        places = itertools.cycle(range(0, self._place_bytes * self._places, self._place_bytes))
        try:
            for page in range(0, len(buffer), _PAGE):
                buffer[page] = 0
            self._read_next(buffer, next(places))
            self._start.wait()
            done_bytes = 0
            while time.perf_counter_ns() - self._start_ns < self._least_ns:
                done_bytes += self._read_next(buffer, next(places))
            self._finish(done_bytes)
        except DiskReadError as error:
            self._error = error
            self._start.abort()
        except threading.BrokenBarrierError:
            return  # another thread failed and has said why
        finally:
            buffer.release()
            memory.close()

    def _read_next(self, buffer: memoryview, place: int) -> int:
        with self._lock:
            span = next(self._spans)
        with buffer[place : place + self._place_bytes] as target:
            return self._files.read(span, target)

    def _note_start(self) -> None:
        self._start_ns = time.perf_counter_ns()

    def _finish(self, done_bytes: int) -> None:
        with self._lock:
            self._bytes += done_bytes
            self._end_ns = max(self._end_ns, time.perf_counter_ns())

    def result(self) -> DriveRate:
        """After all threads ended."""
        if self._error is not None:
            raise self._error
        return DriveRate(self._bytes, self._end_ns - self._start_ns, self._files.is_direct)


def _padded_bytes(span: ReadSpan) -> int:
    lead = span.offset_bytes % _PAGE
    return -(-(lead + span.size_bytes) // _PAGE) * _PAGE


def _huge_buffer(size_bytes: int) -> tuple[mmap.mmap, memoryview]:
    """Memory with at least `size_bytes` from a huge-page boundary on, advised as huge pages where they exist.

    Private: shared anonymous memory, Python's default, belongs to tmpfs and rarely gets huge pages.
    """
    length = (-(-size_bytes // _HUGE_PAGE) + 1) * _HUGE_PAGE
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        memory = mmap.mmap(-1, length)
        return memory, memoryview(memory)
    memory = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return memory, memoryview(memory)[-address % _HUGE_PAGE :]


def _fault(path: Path, error: OSError) -> DiskReadError:
    return DiskReadError(
        f"The drive rate could not be measured on {path.name}: {error.strerror}.",
        "Check the disk and the file.",
        repr(error),
    )
