"""The wire format of ggml's RPC backend, version 7 (ggml-rpc.cpp), as far as a relay must know it.

A request is a command (1 byte), a size (8 bytes) and a payload; an answer is a size and a payload. Every
request with an answer waits for it, so requests and answers of one connection strictly alternate.
"""

from __future__ import annotations

import struct

MAJOR, MINOR = 7, 0
REQUEST = struct.Struct("<BQ")
SIZE = struct.Struct("<Q")

ALLOC_BUFFER, GET_ALIGNMENT, GET_MAX_SIZE, BUFFER_GET_BASE = 0, 1, 2, 3
SET_TENSOR_HASH, GET_TENSOR, COPY_TENSOR = 7, 8, 9
GET_DEVICE_MEMORY, GET_ALLOC_SIZE, HELLO, DEVICE_COUNT = 11, 13, 14, 15

_CAPABILITY_BYTES = 24
HELLO_REQUEST = bytes(_CAPABILITY_BYTES)  # none: a relay speaks plain TCP
_ANSWER_BYTES = {
    ALLOC_BUFFER: 16, GET_ALIGNMENT: 8, GET_MAX_SIZE: 8, BUFFER_GET_BASE: 8, SET_TENSOR_HASH: 1,
    COPY_TENSOR: 1, GET_DEVICE_MEMORY: 16, GET_ALLOC_SIZE: 8, HELLO: 4 + _CAPABILITY_BYTES, DEVICE_COUNT: 4,
}  # fmt: skip
_SUBSTITUTES = {
    GET_ALIGNMENT: SIZE.pack(64),  # ggml divides by it
    GET_MAX_SIZE: SIZE.pack(1 << 62),
    BUFFER_GET_BASE: SIZE.pack(4096),  # ggml takes 0 for a fault of its own
    SET_TENSOR_HASH: b"\1",  # “the data is known”, so nothing more is sent
    COPY_TENSOR: b"\1",
    DEVICE_COUNT: struct.pack("<I", 1),
}


def answer_bytes(command: int, request_end: bytes) -> int | None:
    """Payload bytes of the answer, None if there is none; `request_end`: the request's last 8 bytes."""
    if command == GET_TENSOR:
        return int(SIZE.unpack(request_end)[0])
    return _ANSWER_BYTES.get(command)


def substitute(command: int, size: int) -> bytes:
    """What a peer that is gone could have answered: memory is full, values are 0, all else succeeds."""
    return _SUBSTITUTES.get(command, bytes(size))
