"""A relay on loopback between ggml's RPC client and its peer, so that a lost peer ends no program.

ggml's client calls abort() when its peer vanishes. It talks to this relay instead, which never vanishes: from
the moment the peer is lost, requests get substitute answers, the pass that is running comes to its end with
worthless numbers, and `fault` says why nobody may use them.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedReader
from typing import cast

from engine.errors import DeviceError, DeviceLostError
from engine.native import rpc_protocol as rpc
from engine.native.peer_pulse import LOOK_SECONDS, PeerPulse
from engine.native.stop_patience import StopPatience

_CONNECT_SECONDS = 2.0
_CHUNK_BYTES = 1 << 20
_READER_BYTES = 1 << 16
_LOOPBACK = "127.0.0.1"
# ggml remembers facts per address for good, so no address is ever used for two peers
_used_ports: set[int] = set()


class RpcRelay:
    """One peer. `fault` may be read anywhere."""

    def __init__(self, name: str, host: str, port: int) -> None:
        """Connect and greet; raises DeviceError with the reason."""
        self.name = name
        self.fault: DeviceLostError | None = None
        self._on_lost: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._is_closing = False
        self.patience = StopPatience()
        self._peer = _connect(name, host, port)
        try:
            self._answers = _reader(self._peer)
            self._hello = _greet(name, self._peer, self._answers)
            self.n_devices = _count_devices(name, self._peer, self._answers)
            self._idle = _connect(name, host, port)  # waits at the server, which serves one at a time
        except BaseException:
            self._peer.close()
            raise
        self._peer.settimeout(None)
        self._listener, self.endpoint = _listen()
        self._client: socket.socket | None = None
        self._buffer = memoryview(bytearray(rpc.REQUEST.size + _CHUNK_BYTES))
        self._threads = [
            threading.Thread(target=work, name=f"emberglass-{label}", daemon=True)
            for label, work in (("relay", self._serve), ("relay-watch", self._watch))
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Hang up; only when ggml has freed everything on this device. Idempotent."""
        with self._lock:
            self._is_closing = True
        for connection in (self._listener, self._peer, self._idle, self._client):
            if connection is not None:
                _hang_up(connection)
        for thread in self._threads:
            thread.join()
        self._answers.close()
        for connection in (self._peer, self._idle, self._listener):
            connection.close()

    def on_lost(self, act: Callable[[], None]) -> None:
        """Call `act` once when the peer is lost, on a thread of the relay; from now on nobody else."""
        with self._lock:
            self._on_lost = act

    # --- losing the peer ------------------------------------------------------------------------

    def _watch(self) -> None:
        """Notice a peer that is gone while nobody talks to it."""
        pulse = PeerPulse((self._peer, self._idle))
        poll = select.poll()
        poll.register(self._peer, select.POLLRDHUP)
        while not poll.poll(LOOK_SECONDS * 1000):  # the peer's hang-up, an error, or ours in `close`
            silence_seconds = pulse.look()
            if silence_seconds is not None:
                self._lose(f"nothing was heard of it for {silence_seconds:.1f} seconds")
                return
            if self.patience.is_over():
                self._lose("it did not answer, and was asked to stop")
                return
        self._lose("its connection was closed")

    def _lose(self, reason: str) -> None:
        with self._lock:
            if self._is_closing or self.fault is not None:
                return
            self.fault = DeviceLostError(
                f"The device “{self.name}” is gone: {reason}.",
                "What was written is kept. Load the model again, without that device or once it is back.",
            )
            for connection in (self._peer, self._idle):
                _hang_up(connection)  # whoever waits for it wakes up
            self._on_lost()

    # --- the connection from ggml ---------------------------------------------------------------

    def _serve(self) -> None:
        while not self._is_closing:
            try:
                self._client, _ = self._listener.accept()
            except OSError:
                return  # closed
            with self._client as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with suppress(OSError, EOFError):  # ggml hung up; another connection may follow
                    self._relay(client)
            self._client = None

    def _relay(self, client: socket.socket) -> None:
        with _reader(client) as requests:
            while len(header := requests.read(rpc.REQUEST.size)) == rpc.REQUEST.size:
                command, size = rpc.REQUEST.unpack(header)
                if command == rpc.HELLO:
                    requests.read(size)
                    client.sendall(rpc.SIZE.pack(len(self._hello)) + self._hello)
                    continue
                with self.patience.asking():
                    request_end = self._pass_request(requests, header, size)
                    expected = rpc.answer_bytes(command, request_end)
                    if expected is not None:
                        self._pass_answer(client, command, expected)

    def _pass_request(self, requests: BufferedReader, header: bytes, size: int) -> bytes:
        """Pass it on (or, with the peer gone, only take it); returns its last 8 bytes."""
        used, left = len(header), size
        self._buffer[:used] = header
        while True:
            taken = min(left, _CHUNK_BYTES)
            _read_exactly(requests, self._buffer[used : used + taken])
            used, left = used + taken, left - taken
            if self.fault is None:
                try:
                    self._peer.sendall(self._buffer[:used])
                except OSError as error:
                    self._lose(_reason(error))
            if not left:
                return bytes(self._buffer[max(used - 8, 0) : used])
            used = 0

    def _pass_answer(self, client: socket.socket, command: int, size: int) -> None:
        client.sendall(rpc.SIZE.pack(size), socket.MSG_MORE)
        for part in self._answer(command, size):
            client.sendall(part)

    def _answer(self, command: int, size: int) -> Iterator[bytes | memoryview]:
        """The peer's answer as it comes; what is missing when the peer is lost is made up."""
        done = 0
        try:
            if self.fault is None:
                _read_size(self._answers, size)
            while self.fault is None and done < size:
                part = self._buffer[: min(size - done, _CHUNK_BYTES)]
                _read_exactly(self._answers, part)
                done += len(part)
                yield part
        except (EOFError, OSError) as error:
            self._lose(_reason(error))
        if done < size:
            yield rpc.substitute(command, size)[done:]


def _connect(name: str, host: str, port: int) -> socket.socket:
    try:
        peer = socket.create_connection((host, port), _CONNECT_SECONDS)
    except OSError as error:
        raise _unreachable(name, _reason(error)) from error
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def _greet(name: str, peer: socket.socket, answers: BufferedReader) -> bytes:
    hello = _ask(name, peer, answers, rpc.HELLO, rpc.HELLO_REQUEST)
    if hello[0] != rpc.MAJOR or hello[1] > rpc.MINOR:
        raise DeviceError(
            f"The device “{name}” speaks version {hello[0]}.{hello[1]} of llama.cpp's RPC protocol; "
            f"this program speaks {rpc.MAJOR}.{rpc.MINOR}.",
            "Run the same version of Emberglass (or llama.cpp) on both machines.",
        )
    return hello


def _count_devices(name: str, peer: socket.socket, answers: BufferedReader) -> int:
    return int.from_bytes(_ask(name, peer, answers, rpc.DEVICE_COUNT, b""), "little")


def _ask(name: str, peer: socket.socket, answers: BufferedReader, command: int, request: bytes) -> bytes:
    size = rpc.answer_bytes(command, b"")
    assert size is not None, "only commands with an answer of known size"
    answer = bytearray(size)
    try:
        peer.sendall(rpc.REQUEST.pack(command, len(request)) + request)
        _read_size(answers, size)
        _read_exactly(answers, memoryview(answer))
    except TimeoutError as error:
        raise DeviceError(
            f"The device “{name}” accepts connections but does not answer.",
            "Its server serves one program at a time: close the other one. Or the address is wrong.",
        ) from error
    except (EOFError, OSError) as error:
        raise _unreachable(name, _reason(error)) from error
    return bytes(answer)


def _reason(error: OSError | EOFError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _unreachable(name: str, reason: str) -> DeviceError:
    return DeviceError(
        f"The device “{name}” can't be reached ({reason}).",
        "Check that its server runs there (python -m engine serve-device) and that the address is right.",
    )


def _reader(connection: socket.socket) -> BufferedReader:
    return cast("BufferedReader", connection.makefile("rb", _READER_BYTES))


def _listen() -> tuple[socket.socket, str]:
    """A listener on a loopback port that was never used in this process, and its address for ggml."""
    unwanted: list[socket.socket] = []
    try:
        while True:
            listener = socket.create_server((_LOOPBACK, 0), backlog=1)
            port = listener.getsockname()[1]
            if port not in _used_ports:
                _used_ports.add(port)
                return listener, f"{_LOOPBACK}:{port}"
            unwanted.append(listener)  # held, or the system may offer it again
    finally:
        for each in unwanted:
            each.close()


def _read_size(source: BufferedReader, expected: int) -> None:
    header = bytearray(rpc.SIZE.size)
    _read_exactly(source, memoryview(header))
    if rpc.SIZE.unpack(header)[0] != expected:
        raise EOFError(f"it answered {rpc.SIZE.unpack(header)[0]} bytes instead of {expected}")


def _read_exactly(source: BufferedReader, target: memoryview) -> None:
    while target:
        got = source.readinto(target)
        if not got:
            raise EOFError("its connection was closed")
        target = target[got:]


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side may have been first
        connection.shutdown(socket.SHUT_RDWR)
