"""Keeps Python from collecting garbage, and widgets with it, in a thread that only computes."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_was_enabled = False


@contextmanager
def collection_paused() -> Iterator[None]:
    """For a fraction of a second; may overlap with others in other threads."""
    global _pauses, _was_enabled  # noqa: PLW0603 - the collector is one for the whole process, too
    with _lock:
        if _pauses == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _was_enabled:
                gc.enable()
