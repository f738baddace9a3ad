"""A second start with the same data folder hands its file to the first window and ends."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_PATIENCE_MS = 5_000
_TAKEN = b"taken\n"
_MOST_BYTES = 64 * 1024


def hand_over(data_dir: Path, model: Path | None = None) -> bool:
    """Ask the program that has the folder open to come forward and open `model`; False if none answers."""
    socket = QLocalSocket()
    socket.connectToServer(_server_name(data_dir))
    if not socket.waitForConnected(_PATIENCE_MS):
        return False
    words = json.dumps({"model": None if model is None else str(model.absolute())})
    socket.write(words.encode() + b"\n")
    while not socket.canReadLine():
        if not socket.waitForReadyRead(_PATIENCE_MS):
            return False
    return bytes(socket.readLine().data()) == _TAKEN


class FirstStart(QObject):
    """Listens for later starts; make it once the folder's lock is held. GUI thread.

    `started_again` carries the Path the later start was given, or None.
    """

    started_again = Signal(object)

    def __init__(self, data_dir: Path) -> None:
        super().__init__()
        self._server = QLocalServer(self)
        # other users of the machine can't reach it
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._take_connection)
        name = _server_name(data_dir)
        if not self._server.listen(name):
            # left behind by a program that was killed: the lock says that none runs now
            QLocalServer.removeServer(name)
            self._server.listen(name)

    @property
    def is_listening(self) -> bool:
        return self._server.isListening()

    def close(self) -> None:
        self._server.close()

    def _take_connection(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is not None:
            socket.readyRead.connect(lambda: self._read(socket))
            socket.disconnected.connect(socket.deleteLater)
            self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if socket.canReadLine():
            is_understood, model = _read_words(bytes(socket.readLine().data()))
            if is_understood:
                socket.write(_TAKEN)
                socket.flush()
                self.started_again.emit(model)
            socket.disconnectFromServer()
        elif socket.bytesAvailable() > _MOST_BYTES:
            socket.abort()


def _read_words(line: bytes) -> tuple[bool, Path | None]:
    try:
        words = json.loads(line)
    except ValueError:
        return False, None
    match words:
        case {"model": str(model)}:
            return True, Path(model)
        case {"model": None}:
            return True, None
    return False, None


def _server_name(data_dir: Path) -> str:
    """One name per folder and short enough for a socket's path."""
    return "emberglass-" + hashlib.sha256(str(data_dir.resolve()).encode()).hexdigest()[:20]
