"""The relay passes everything on, and answers itself once the peer is gone."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.errors import DeviceError
from engine.native.rpc_relay import RpcRelay
from tests.support.rpc_peer import HELLO, RpcPeer, rpc_peer

# commands as ggml-rpc.cpp numbers them
ALLOC, ALIGNMENT, BASE, FREE, SET, GET, COMPUTE, HELLO_COMMAND = 0, 1, 3, 4, 6, 8, 10, 14


class Client:
    """ggml's side of the connection."""

    def __init__(self, endpoint: str) -> None:
        host, port = endpoint.split(":")
        self._socket = socket.create_connection((host, int(port)), 30)

    def send(self, command: int, payload: bytes) -> None:
        self._socket.sendall(struct.pack("<BQ", command, len(payload)) + payload)

    def answer(self) -> bytes:
        size = struct.unpack("<Q", self._exactly(8))[0]
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, "the relay never hangs up"
            data += more
        return data

    def close(self) -> None:
        self._socket.close()


@contextmanager
def connected() -> Iterator[tuple[RpcPeer, RpcRelay, Client]]:
    with rpc_peer(n_devices=2) as peer:
        relay = RpcRelay("rpc:test", "127.0.0.1", peer.port)
        peer.wait()
        client = Client(relay.endpoint)
        try:
            yield peer, relay, client
        finally:
            client.close()
            relay.close()


def test_the_greeting_is_answered_here() -> None:
    with connected() as (_, relay, client):
        assert relay.n_devices == 2
        client.send(HELLO_COMMAND, bytes(24))
        assert client.answer() == HELLO


@pytest.mark.parametrize("size", [8, 3 << 20])
def test_requests_and_answers_pass_unchanged(size: int) -> None:
    data = os.urandom(size)
    with connected() as (peer, relay, client):
        sender = threading.Thread(target=client.send, args=(SET, data))  # more than buffers hold
        sender.start()
        assert peer.receive(9 + size) == struct.pack("<BQ", SET, size) + data
        sender.join()
        client.send(GET, b"tensor" + struct.pack("<Q", size))
        assert peer.receive(9 + 14) is not None
        sender = threading.Thread(target=peer.answer, args=(data,))
        sender.start()
        assert client.answer() == data
        sender.join()
        assert relay.fault is None


def test_a_lost_peer_is_noticed_while_nobody_talks() -> None:
    with connected() as (peer, relay, _):
        noticed = threading.Event()
        relay.on_lost(noticed.set)
        peer.hang_up()
        assert noticed.wait(2)
        assert "“rpc:test” is gone" in str(relay.fault)


def test_after_the_loss_everything_is_answered() -> None:
    with connected() as (peer, relay, client):
        noticed = threading.Event()
        relay.on_lost(noticed.set)
        peer.hang_up()
        assert noticed.wait(2)
        client.send(SET, bytes(100_000))
        client.send(COMPUTE, bytes(1000))
        client.send(GET, b"tensor" + struct.pack("<Q", 5000))
        assert client.answer() == bytes(5000)
        client.send(ALLOC, bytes(12))
        assert client.answer() == bytes(16)  # no memory
        client.send(ALIGNMENT, bytes(4))
        assert struct.unpack("<Q", client.answer())[0] > 0
        client.send(BASE, bytes(8))
        assert struct.unpack("<Q", client.answer())[0] > 0
        client.send(FREE, bytes(8))
        client.send(GET, struct.pack("<Q", 1))
        assert client.answer() == b"\0"


def test_an_answer_that_breaks_off_is_completed() -> None:
    with connected() as (peer, relay, client):
        client.send(GET, struct.pack("<Q", 3000))
        assert peer.receive(9 + 8) is not None
        assert peer.connection is not None
        peer.connection.sendall(struct.pack("<Q", 3000) + b"x" * 1000)
        peer.hang_up()
        assert len(client.answer()) == 3000
        assert relay.fault is not None


def test_an_answer_of_a_wrong_size_is_a_loss() -> None:
    with connected() as (peer, relay, client):
        client.send(ALIGNMENT, bytes(4))
        assert peer.receive(9 + 4) is not None
        peer.answer(b"nonsense of 23 bytes...")
        assert struct.unpack("<Q", client.answer())[0] > 0
        assert "23 bytes instead of 8" in str(relay.fault)


def test_ggml_may_hang_up_and_come_back() -> None:
    with connected() as (peer, relay, client):
        client.close()
        again = Client(relay.endpoint)
        again.send(ALIGNMENT, bytes(4))
        assert peer.receive(9 + 4) is not None
        peer.answer(struct.pack("<Q", 32))
        assert again.answer() == struct.pack("<Q", 32)
        again.close()
        assert relay.fault is None


def test_closing_is_no_loss() -> None:
    with rpc_peer() as peer:
        relay = RpcRelay("rpc:test", "127.0.0.1", peer.port)
        relay.close()
        assert relay.fault is None


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        ({"hello": bytes([6, 0, 0, 0]) + bytes(24)}, "speaks version 6.0"),
        ({"hello": b"HTTP/1.1 400"}, "can't be reached"),
        ({"is_silent": True}, "does not answer"),
    ],
)
def test_a_peer_that_is_something_else_is_named(peer: dict[str, object], words: str) -> None:
    with rpc_peer(**peer) as other, pytest.raises(DeviceError, match=words):  # type: ignore[arg-type] # a table
        RpcRelay("rpc:test", "127.0.0.1", other.port)


def test_nobody_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(DeviceError, match="“rpc:test” can't be reached"):
        RpcRelay("rpc:test", "127.0.0.1", port)


def test_a_machine_that_falls_silent_is_lost_within_two_seconds() -> None:
    with connected() as (peer, relay, client):
        noticed = threading.Event()
        relay.on_lost(noticed.set)
        client.send(GET, struct.pack("<Q", 100))  # no answer: the peer computes, or is gone
        assert peer.receive(9 + 8) is not None
        peer.fall_silent()
        assert noticed.wait(2)
        assert client.answer() == bytes(100)
        assert "nothing was heard of it for 1." in str(relay.fault)


def test_a_silent_machine_is_lost_while_nobody_talks() -> None:
    with connected() as (peer, relay, client):
        noticed = threading.Event()
        relay.on_lost(noticed.set)
        client.send(SET, bytes(8))
        assert peer.receive(9 + 8) is not None
        peer.fall_silent()
        assert noticed.wait(2)


@pytest.mark.parametrize("size", [8, 64 << 20])
def test_a_slow_peer_is_not_lost(size: int) -> None:
    """It computes for long and reads nothing meanwhile; so much that is sent to it fills all buffers."""
    with connected() as (peer, relay, client):
        noticed = threading.Event()
        relay.on_lost(noticed.set)
        client.send(COMPUTE, bytes(8))
        sender = threading.Thread(target=client.send, args=(SET, bytes(size)))
        sender.start()
        assert not noticed.wait(4)
        assert peer.receive(9 + 8 + 9 + size) is not None
        sender.join()
        client.send(GET, struct.pack("<Q", 100))
        assert peer.receive(9 + 8) is not None
        peer.answer(bytes(100))
        assert client.answer() == bytes(100)
        assert relay.fault is None
