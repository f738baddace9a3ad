"""llama.cpp's log lines: kept for error details, never printed."""

from __future__ import annotations

import logging
from collections import deque
from functools import cache

from llama_cpp import llama_cpp as ll

from engine.native.library import LOG_CALLBACK

_logger = logging.getLogger("emberglass.llama_cpp")
_recent: deque[str] = deque(maxlen=200)
_WARN, _ERROR = 3, 4


def _on_line(level: int, text: bytes, _: object) -> None:
    line = text.decode(errors="replace").rstrip()
    if level in (_WARN, _ERROR) and line:
        _recent.append(line)
    _logger.debug("%s", line)


_callback = LOG_CALLBACK(_on_line)


@cache
def capture() -> None:
    """Route the library's log here; once per process."""
    ll.llama_log_set(_callback, None)


def recent_faults(clear: bool = True) -> str:
    """Warnings and errors since the last call, one per line."""
    text = "\n".join(_recent)
    if clear:
        _recent.clear()
    return text
