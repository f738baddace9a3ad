"""When silence means that a peer is gone: not after a lost packet, nor after this machine slept."""

from __future__ import annotations

import socket
import struct
from typing import cast

from engine.native.peer_pulse import PeerPulse


class Connection:
    """Reports these silences, in milliseconds, one per look; counts how often it was told to ask."""

    def __init__(self, since_data_ms: list[int], since_ack_ms: list[int]) -> None:
        self._silences = list(zip(since_data_ms, since_ack_ms, strict=True))
        self.asked = -1  # the first time is the start

    def setsockopt(self, _: int, option: int, __: int) -> None:
        self.asked += option == socket.TCP_KEEPIDLE

    def getsockopt(self, _: int, __: int, size: int) -> bytes:
        # struct tcp_info of linux/tcp.h: 8 single bytes, 9 counters, then 4 times
        data, ack = self._silences.pop(0)
        return struct.pack("=8x9I4I", *range(9), 1, 2, data, ack)[:size]


def looks(*connections: Connection, count: int) -> list[bool]:
    pulse = PeerPulse(cast("list[socket.socket]", connections))
    return [pulse.look() is not None for _ in range(count)]


def test_silence_is_a_loss_after_much_asking() -> None:
    times = [*range(900, 1900, 100)]
    connection = Connection([9999] * len(times), times)
    assert looks(connection, count=len(times)) == [False] * 9 + [True]
    assert connection.asked == 8


def test_bytes_that_come_are_a_sign_of_life() -> None:
    assert not any(looks(Connection([20] * 8, [60_000] * 8), count=8))


def test_one_living_connection_is_enough() -> None:
    dead, living = Connection([60_000] * 8, [60_000] * 8), Connection([60_000] * 8, [30] * 8)
    assert not any(looks(dead, living, count=8))


def test_a_sign_of_life_starts_the_count_anew() -> None:
    times = [1000, 1100, 1200, 1300, 50, 1400, 1800, 1850, 1900, 1950]
    assert looks(Connection(times, times), count=10) == [False] * 9 + [True]


def test_a_machine_that_slept_asks_first() -> None:
    times = [3_600_000, 100, 200]
    assert not any(looks(Connection(times, times), count=3))
