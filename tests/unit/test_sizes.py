"""Sizes as people write and read them."""

from __future__ import annotations

import pytest

from engine.config import format_size


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1022 << 10, "1022 KiB"), (1000 << 20, "1000 MiB"),
        (int(999.7 * 1024), "1000 KiB"), (4_574_140_170, "4.26 GiB"),
    ],
)  # fmt: skip
def test_format_size(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text
