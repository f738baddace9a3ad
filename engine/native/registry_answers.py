"""What llama.cpp hears when it asks the CPU backend's registry for a function by name.

Process-wide, so loads must not overlap.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from engine.native import tensor
from engine.native.library import cpu_registry, pointer_at

_LOOK_UP = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)


@contextmanager
def registry_answers(answers: Mapping[bytes, int]) -> Iterator[None]:
    """Within the block these names give these function addresses, all others what they always give."""
    entry = pointer_at(cpu_registry() + tensor.REGISTRY_GET_PROC_ADDRESS)
    saved = entry.value
    assert saved is not None, "abi.check proves this entry"
    original = _LOOK_UP(saved)

    def look_up(registry: int, name: bytes) -> int | None:
        result: int | None = answers.get(name) or original(registry, name)
        return result

    wrapped = _LOOK_UP(look_up)
    entry.value = c.cast(wrapped, c.c_void_p).value
    try:
        yield
    finally:
        entry.value = saved
