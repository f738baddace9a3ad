"""A recorded run: events as JSON lines. It holds figures and names of files, never what was said."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from engine.errors import TraceFileError
from engine.events import Event
from engine.telemetry.trace_events import Document, EventDecoder, EventEncoder

SUFFIX = ".embertrace"
_VERSION = 1
_HEAD = {"type": "emberglass_trace", "version": _VERSION}


class TraceWriter:
    """Writes events as they come; one thread. What is on disk can be read at any time."""

    def __init__(self, path: Path) -> None:
        """Begin a new file; raises TraceFileError."""
        self.path = path
        self.events = 0
        self._encoder = EventEncoder()
        try:
            self._file: TextIO = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise _write_fault(path, error) from error
        self._write_lines([_HEAD])

    def write(self, events: Iterable[Event]) -> None:
        """Append; raises TraceFileError."""
        documents = [self._encoder.encode(event) for event in events]
        self._write_lines(documents)
        self.events += len(documents)

    def close(self) -> None:
        """Every write is on its way already: what fails here has failed, and was told, before."""
        with suppress(OSError):
            self._file.close()

    def _write_lines(self, documents: Iterable[Document]) -> None:
        try:
            self._file.writelines(
                json.dumps(d, ensure_ascii=False, separators=(",", ":")) + "\n" for d in documents
            )
            self._file.flush()
        except OSError as error:
            raise _write_fault(self.path, error) from error


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One event, not decoded yet: decoded, a sample of a large model takes more than a megabyte."""

    t_ns: int
    text: str


def read_lines(path: Path) -> list[TraceLine]:
    """All events of a file in their order; raises TraceFileError.

    A last line that was cut off (the program was killed while it recorded) is ignored.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _read_fault(path, error) from error
    try:
        head = json.loads(lines[0])
        if head.get("type") != _HEAD["type"]:
            raise ValueError("its first line is another")
    except (ValueError, AttributeError) as error:
        raise _read_fault(path, error) from error
    if head.get("version") != _VERSION:
        raise TraceFileError(
            f"{path.name} is a recording of version {head.get('version')}; this program reads {_VERSION}.",
            "Open it with the version that recorded it.",
        )
    return [_line(path, text) for text in lines[1:-1]]


def decode_line(line: TraceLine, decoder: EventDecoder) -> Event | None:
    """The event of a line; None if this version doesn't know its type. Raises TraceFileError."""
    try:
        return decoder.decode(json.loads(line.text))
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise TraceFileError(
            "An event of the recording can't be read.", "Record the run again.", repr(error)
        ) from error


def read_trace(path: Path) -> Iterator[Event]:
    """The events of a file, one after the other; raises TraceFileError."""
    decoder = EventDecoder()
    for line in read_lines(path):
        event = decode_line(line, decoder)
        if event is not None:
            yield event


def _line(path: Path, text: str) -> TraceLine:
    try:
        return TraceLine(int(json.loads(text)["t_ns"]), text)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise _read_fault(path, error) from error


def _write_fault(path: Path, error: OSError) -> TraceFileError:
    return TraceFileError(
        f"The recording can't be written to {path} ({error.strerror}).",
        "Choose another folder or free some space.",
    )


def _read_fault(path: Path, error: Exception) -> TraceFileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a recording"
    return TraceFileError(
        f"{path.name} can't be opened as a recording: {reason}.",
        f"Choose a file that Emberglass recorded (*{SUFFIX}).",
        repr(error),
    )
