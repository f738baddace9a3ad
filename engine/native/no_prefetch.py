"""Keep llama.cpp from reading the whole file when it maps it.

On Linux it maps with MAP_POPULATE unless the CPU backend says that the machine is NUMA. During a load
the CPU registry's look-up therefore answers "is NUMA: yes". Process-wide, so loads must not overlap.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from contextlib import contextmanager

from engine.native import tensor
from engine.native.abi import cpu_registry
from engine.native.library import pointer_at

_LOOK_UP = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)
_YES = c.CFUNCTYPE(c.c_bool)(lambda: True)


@contextmanager
def no_prefetch() -> Iterator[None]:
    """Within the block, mapping a model file reads none of it."""
    entry = pointer_at(cpu_registry() + tensor.REGISTRY_GET_PROC_ADDRESS)
    saved = entry.value
    assert saved is not None, "abi.check proves this entry"
    original = _LOOK_UP(saved)
    yes_address = c.cast(_YES, c.c_void_p).value

    def look_up(registry: int, name: bytes) -> int | None:
        if name == b"ggml_backend_cpu_is_numa":
            return yes_address
        result: int | None = original(registry, name)
        return result

    wrapped = _LOOK_UP(look_up)
    entry.value = c.cast(wrapped, c.c_void_p).value
    try:
        yield
    finally:
        entry.value = saved
