"""Large blocks of C's heap come from the system and go back to it, however often."""

from __future__ import annotations

import ctypes as c

import pytest

from engine.config import MIB
from engine.hardware.memory import private_bytes
from engine.native.memory import keep_large_blocks_apart

_BLOCK_BYTES = 20 * MIB


def test_a_freed_block_is_not_kept_for_the_next_one() -> None:
    libc = c.CDLL(None)
    if not hasattr(libc, "mallopt"):
        pytest.skip("this C library always or never does so")
    libc.malloc.restype, libc.malloc.argtypes = c.c_void_p, [c.c_size_t]
    libc.free.argtypes = [c.c_void_p]
    keep_large_blocks_apart()
    for _ in range(3):
        before = private_bytes()
        block = libc.malloc(_BLOCK_BYTES)
        taken = private_bytes() - before
        libc.free(block)
        # other threads of the test run may take some meanwhile
        assert taken == pytest.approx(_BLOCK_BYTES, abs=2 * MIB)
        assert private_bytes() - before == pytest.approx(0, abs=2 * MIB)
