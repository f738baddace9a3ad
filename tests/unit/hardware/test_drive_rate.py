"""The drive rate: whole pages, every span in turn, faults in words."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import pytest

from engine.errors import DiskReadError
from engine.hardware import drive_rate
from engine.hardware.drive_rate import DriveRate, ReadSpan, measure_drive_rate


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(bytes(range(256)) * 4096)  # 1 MiB
    return path


def test_rate_is_bytes_over_time() -> None:
    assert DriveRate(3_000_000_000, 1_500_000_000, True).bytes_per_second == 2e9
    assert DriveRate(0, 0, True).bytes_per_second == 0


def test_reads_whole_pages_around_each_span(file: Path) -> None:
    # bytes 5,000 to 15,000 touch the pages from 4,096 to 16,384
    rate = measure_drive_rate([ReadSpan(file, 5_000, 10_000)], queue_depth=2, least_seconds=0.05)
    assert rate.bytes_read > 0
    assert rate.bytes_read % 12_288 == 0
    assert rate.elapsed_ns >= 50_000_000


def test_all_spans_are_read_in_turn(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[ReadSpan, str]] = []
    real = drive_rate._Files.read

    def read(files: drive_rate._Files, span: ReadSpan, target: memoryview) -> int:
        seen.append((span, threading.current_thread().name))
        return real(files, span, target)

    monkeypatch.setattr(drive_rate._Files, "read", read)
    spans = [ReadSpan(file, offset, 4096) for offset in range(0, 1 << 20, 1 << 18)]
    measure_drive_rate(spans, queue_depth=3, least_seconds=0.05)
    counts = [sum(span == other for other, _ in seen) for span in spans]
    assert max(counts) - min(counts) <= 1
    assert len({name for _, name in seen}) == 3


def test_reading_past_the_end_counts_what_came(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(bytes(6_000))
    rate = measure_drive_rate([ReadSpan(path, 4_096, 1_904)], queue_depth=1, least_seconds=0.02)
    assert rate.bytes_read % 1_904 == 0
    assert rate.bytes_read > 0


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskReadError, match=r"gone\.gguf: No such file"):
        measure_drive_rate([ReadSpan(tmp_path / "gone.gguf", 0, 4096)], queue_depth=2)


def test_a_failing_read_ends_all_threads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> int:
        raise OSError(5, "Input/output error")

    files = drive_rate._Files
    real_open = files._open

    def open_then_break(self: drive_rate._Files, path: Path) -> int:
        descriptor = real_open(self, path)
        monkeypatch.setattr(drive_rate.os, "preadv", fail)
        return descriptor

    monkeypatch.setattr(files, "_open", open_then_break)
    with pytest.raises(DiskReadError, match="Input/output error"):
        measure_drive_rate([ReadSpan(file, 0, 4096)], queue_depth=3)
    assert not [t for t in threading.enumerate() if t.name.startswith("drive-rate")]


def test_buffers_start_at_a_huge_page() -> None:
    memory, buffer = drive_rate._huge_buffer(5_000_000)
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    assert address % (2 << 20) == 0
    assert len(buffer) >= 5_000_000
    del memory
