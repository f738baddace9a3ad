"""Keep llama.cpp from reading the whole file when it maps it.

On Linux it maps with MAP_POPULATE unless the CPU backend says that the machine is NUMA. During a load
the CPU registry's look-up therefore answers "is NUMA: yes". Process-wide, so loads must not overlap.
"""

from __future__ import annotations

import ctypes as c
from contextlib import AbstractContextManager

from engine.native.registry_answers import registry_answers

_YES = c.CFUNCTYPE(c.c_bool)(lambda: True)


def no_prefetch() -> AbstractContextManager[None]:
    """Within the block, mapping a model file reads none of it."""
    yes_address = c.cast(_YES, c.c_void_p).value
    assert yes_address, "a function has an address"
    return registry_answers({b"ggml_backend_cpu_is_numa": yes_address})
