"""A device server in a process of its own, on a free loopback port: its memory is not ours to address."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_START_SECONDS = 60


class DeviceServer:
    """`name` is what to give as a device; `kill` ends the process at once."""

    def __init__(self, port: int | None = None) -> None:
        self.port = port or _free_port()
        self.name = f"rpc:127.0.0.1:{self.port}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engine", "serve-device", "--port", str(self.port), "--threads", "1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._await()

    def _await(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        self.kill()
        raise RuntimeError("the device server did not start")

    def freeze(self) -> None:
        """Its program answers nothing from now on, while its system lives."""
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """As a machine that loses power, except that its system says so."""
        self._process.kill()
        self._process.wait()


@contextmanager
def serving_device() -> Iterator[DeviceServer]:
    """A server that is gone at the end."""
    server = DeviceServer()
    try:
        yield server
    finally:
        server.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
