"""Catches the message with which ggml ends the process; the end itself can't be prevented."""

from __future__ import annotations

import ctypes as c
import sys
from collections.abc import Callable

from engine.native import log
from engine.native.library import ggml_base

_ABORT = c.CFUNCTYPE(None, c.c_char_p)
_kept: list[object] = []  # as long as ggml may call it


def on_abort(tell: Callable[[str, str], None]) -> None:
    """Call `tell(message, warnings before it)` on whatever thread aborts; from now on nobody else."""

    def catch(message: bytes) -> None:
        text = message.decode(errors="replace")
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - as ggml does if nobody listens
        tell(text, log.recent_faults(clear=False))

    callback = _ABORT(catch)
    ggml_base().ggml_set_abort_callback(callback)
    _kept[:] = [callback]
