"""How fast the processor gets through memory: what bounds a decoded token whose weights are all resident."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_ALL_BYTES = 256 << 20  # far more than a processor cache
_PASSES = 4


def measure_memory_rate(threads: int) -> float:
    """Bytes per second that `threads` read together; blocks for a fraction of a second."""
    blocks = np.array_split(np.ones(_ALL_BYTES // 8), threads)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(np.sum, blocks))  # now the threads exist
        start_ns = time.perf_counter_ns()
        for _ in range(_PASSES):
            list(pool.map(np.sum, blocks))
        elapsed_ns = time.perf_counter_ns() - start_ns
    return _PASSES * _ALL_BYTES * 1e9 / max(1, elapsed_ns)
