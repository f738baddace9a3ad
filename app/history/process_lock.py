"""One process at a time writes the conversations; the lock ends with the process, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from app.history.errors import HistoryBusyError, HistoryError, HistoryFileError

_CLOSED = -1

if sys.platform == "win32":
    import msvcrt

    # Windows locks forbid reading too: a byte far behind the text keeps the process number readable
    _LOCKED_BYTE_OFFSET = 1 << 30

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ProcessLock:
    """Held from construction until `close()`.

    The file stays behind on purpose: deleting it would let two processes lock two files of one name.
    Raises HistoryBusyError if another process (or another store of this one) holds it.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _cannot_lock(path, error) from error
        try:
            self._take(path)
        except HistoryError:
            self.close()
            raise

    def close(self) -> None:
        """Give the lock back; may be called twice."""
        # a second os.close could hit a file that got the same number in between
        descriptor, self._descriptor = self._descriptor, _CLOSED
        if descriptor != _CLOSED:
            os.close(descriptor)

    def _take(self, path: Path) -> None:
        try:
            _lock(self._descriptor)
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, str(os.getpid()).encode())
        except BlockingIOError as error:
            raise _held_elsewhere(os.read(self._descriptor, 20)) from error
        except OSError as error:
            raise _cannot_lock(path, error) from error


def _held_elsewhere(holder: bytes) -> HistoryBusyError:
    process = f" (process {holder.decode()})" if holder.isdigit() else ""
    return HistoryBusyError(
        f"Your conversations are already open in another Emberglass window{process}.",
        "Use that window, or close it and start Emberglass again.",
    )


def _cannot_lock(path: Path, error: OSError) -> HistoryFileError:
    return HistoryFileError(
        f"The lock file {path} can’t be used ({error.strerror or error}).",
        "Check that its folder exists, that you may write there, and that the drive has room.",
        repr(error),
    )
