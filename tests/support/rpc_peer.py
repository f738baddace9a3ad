"""A peer of the RPC relay that speaks just enough of the protocol to be greeted; the rest is the test's."""

from __future__ import annotations

import ctypes as c
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HELLO = bytes([7, 0, 0, 0]) + bytes(24)
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_TAKE_NOTHING = c.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0), 8)  # BPF: return 0 bytes


class RpcPeer:
    """Greets, says it has `n_devices`, then gives the connection to the test as `connection`.

    A second connection may come; it is accepted and left alone.
    """

    def __init__(self, hello: bytes = HELLO, n_devices: int = 1, is_silent: bool = False) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._hello, self._n_devices, self._is_silent = hello, n_devices, is_silent
        self._is_open = threading.Event()
        self.connection: socket.socket | None = None
        self._second: socket.socket | None = None
        self._thread = threading.Thread(target=self._greet)
        self._thread.start()

    def _greet(self) -> None:
        try:
            self.connection, _ = self._listener.accept()
        except OSError:
            return  # closed before anybody came
        if self._is_silent:
            return
        self.receive(9 + 24)
        self.answer(self._hello)
        if self.receive(9) is not None:
            self.answer(struct.pack("<I", self._n_devices))
        with suppress(OSError):  # closed before it came
            self._second, _ = self._listener.accept()
        self._is_open.set()

    def receive(self, size: int) -> bytes | None:
        """Exactly so many bytes, None if the other side hung up."""
        assert self.connection is not None
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                return None
            data += more
        return data

    def answer(self, payload: bytes) -> None:
        """One answer."""
        assert self.connection is not None
        self.connection.sendall(struct.pack("<Q", len(payload)) + payload)

    def wait(self) -> None:
        """Until it has greeted: from then on the connection is the test's."""
        assert self._is_open.wait(30)

    def fall_silent(self) -> None:
        """As a machine without power: from now on nothing that comes is so much as acknowledged.

        Receive something first, so that all that was answered is acknowledged: it would be sent again.
        """
        program = struct.pack("HxxxxxxQ", 1, c.addressof(_TAKE_NOTHING))
        for connection in (self.connection, self._second):
            assert connection is not None
            connection.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)

    def hang_up(self) -> None:
        """As a process that is killed."""
        for connection in (self.connection, self._second):
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """End everything; idempotent."""
        with suppress(OSError):  # not connected, or already hung up
            self._listener.shutdown(socket.SHUT_RDWR)
        if self.connection is not None:
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(30)
        self._listener.close()
        self.hang_up()


@contextmanager
def rpc_peer(hello: bytes = HELLO, n_devices: int = 1, is_silent: bool = False) -> Iterator[RpcPeer]:
    """A peer that is gone at the end."""
    peer = RpcPeer(hello, n_devices, is_silent)
    try:
        yield peer
    finally:
        peer.close()
