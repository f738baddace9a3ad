"""What llama.cpp said before it ended the program: kept in a file, told at the next start.

ggml calls abort() where it sees no way on, above all when a card's driver was reset or lost its card. That
process can't be saved any more, but its words can.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import ErrorInfo

_BACKEND = re.compile(r"ggml-([a-z]+)")  # of the source file that gave up
_CURRENT_DEVICE = re.compile(r"current device: ([0-9]+)")
_SOURCE = re.compile(r"^\S+:[0-9]+: ")
_MOST_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class LastWords:
    """`message` of the abort, `log`: warnings just before it, `devices` in use, file name of the `model`."""

    message: str
    log: str = ""
    devices: tuple[str, ...] = ()
    model: str = ""

    def write(self, path: Path) -> None:
        """In one piece, on the disk when this returns. Raises OSError."""
        data = json.dumps(asdict(self)).encode()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)


def take_last_words(path: Path) -> LastWords | None:
    """What the last run left, once: the file is gone afterwards. None if there is nothing to read."""
    try:
        values = json.loads(path.read_bytes())
        words = LastWords(
            str(values["message"]),
            str(values["log"]),
            tuple(map(str, values["devices"])),
            str(values["model"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        words = None
    with suppress(OSError):
        path.unlink()
    return words


def explain(words: LastWords) -> ErrorInfo:
    """The end of the last run in words a user can act on."""
    device = _suspect(words)
    said = _SOURCE.sub("", words.message).strip()
    detail = f"{words.message}\n{words.log}".strip()[:_MOST_DETAIL]
    model = f" with “{words.model}”" if words.model else ""
    if device is None:
        return ErrorInfo(
            "EngineEnded",
            f"llama.cpp ended the program the last time{model}: {said}.",
            "What was written is kept. Load the model again; if it happens again, try other settings.",
            detail,
        )
    return ErrorInfo(
        "EngineEnded",
        f"llama.cpp ended the program the last time{model}, because the device “{device}” failed: {said}.",
        "A computer that slept or a driver that was reset does this. What was written is kept. Load the model"
        " again; if it happens again, load it without that device or update the card's driver.",
        detail,
    )


def _suspect(words: LastWords) -> str | None:
    """The device that gave up, as far as the words tell; None if it was none of them."""
    backend = _BACKEND.search(words.message)
    if backend is None or backend[1] in ("cpu", "base", "backend", "alloc"):
        return None
    own = [name for name in words.devices if name.lower().startswith(backend[1])]
    number = _CURRENT_DEVICE.search(words.log)
    exact = [name for name in own if number is not None and name.endswith(number[1])]
    named = exact or own
    return ", ".join(named) if named else None
