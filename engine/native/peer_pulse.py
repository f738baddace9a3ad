"""Tells a peer that computes from one that is gone, by its system's acknowledgements.

A program that computes answers nothing, for minutes if it likes, and its system acknowledges what is sent to
it all the same, keep-alive probes too. TCP sends those to an idle connection only, and asks a full one ever
more rarely; so besides the connection in use a second one is watched, through which nothing is ever sent.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

LOOK_SECONDS = 0.1
_MOST_SILENCE_MS = 1700
# Linux probes a second after the last sign. From then on we ask at every look: lost packets are no loss.
_PROBE_MS, _LEAST_UNANSWERED = 1000, 4
_MOST_PROBES = 127  # the system gives a connection up after so many; that is our decision
_LAST_RECEIVED = struct.Struct("=52xII")  # tcpi_last_data_recv, tcpi_last_ack_recv of Linux, milliseconds


class PeerPulse:
    """Owned by the thread that looks, every `LOOK_SECONDS`."""

    def __init__(self, connections: Sequence[socket.socket]) -> None:
        """Connections to one peer."""
        self._connections = connections
        self._unanswered = 0  # looks in a row that found it silent, and asked
        for each in connections:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _MOST_PROBES)
        self._ask()

    def look(self) -> float | None:
        """Seconds of silence if they mean that the peer is gone, else None."""
        silence_ms = min(map(_silence_ms, self._connections))
        if silence_ms < _PROBE_MS:
            self._unanswered = 0
            return None
        if silence_ms > _MOST_SILENCE_MS and self._unanswered >= _LEAST_UNANSWERED:
            return silence_ms / 1000
        self._unanswered += 1
        self._ask()
        return None

    def _ask(self) -> None:
        for each in self._connections:
            # setting it again starts its timer anew, which has run out already after that second
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_MS // 1000)


def _silence_ms(connection: socket.socket) -> int:
    """Since anything came from the other side, bytes or acknowledgements."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED.size)
    data_ms, acknowledgement_ms = _LAST_RECEIVED.unpack(info)
    return int(min(data_ms, acknowledgement_ms))
