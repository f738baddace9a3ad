"""Stop a running graph from any thread without needing the interpreter's lock.

ggml asks `abort_callback(data)` before each node. The C library's strlen is such a function: on the flag
of a CancelToken it is 0 until the flag is raised and 1 afterwards, and it is read as a bool.
"""

from __future__ import annotations

import ctypes as c
from functools import cache

from llama_cpp import llama_cpp as ll


@cache
def _strlen_address() -> int:
    address = c.cast(c.CDLL(None).strlen, c.c_void_p).value
    assert address is not None, "every C library has strlen"
    return address


def set_abort_flag(context: object, flag_address: int) -> None:
    """Let computations of `context` stop when the C string at `flag_address` is no longer empty."""
    ll.llama_set_abort_callback(context, ll.ggml_abort_callback(_strlen_address()), flag_address)
