"""Addresses of other machines' memory, as they are typed and as they are kept. No Qt."""

from __future__ import annotations

import ipaddress
import re

from engine.errors import UsageError

_PREFIX = "rpc:"
_LARGEST_PORT = 65535
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_LONGEST_HOST = 253


def parse_address(text: str) -> str:
    """`rpc:HOST:PORT` of what was typed, with or without the prefix; raises UsageError with what is wrong."""
    plain = text.strip()
    if plain.lower().startswith(_PREFIX):
        plain = plain[len(_PREFIX) :]
    host, colon, port = plain.rpartition(":")
    if not colon or not host:
        raise UsageError(f"“{text.strip()}” names no port.", "Write HOST:PORT, like 192.168.1.20:50052.")
    return f"{_PREFIX}{_host(host)}:{_port(port)}"


def is_loopback(address: str) -> bool:
    """Whether only programs on this machine can be meant."""
    host = address.removeprefix(_PREFIX).rpartition(":")[0].strip("[]")
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(text: str) -> str:
    if text.startswith("[") or text.endswith("]") or ":" in text:
        return _ipv6(text)
    if re.fullmatch(r"[\d.]+", text):
        try:
            return str(ipaddress.IPv4Address(text))
        except ValueError:
            raise UsageError(f"“{text}” is no IP address.", "It looks like 192.168.1.20.") from None
    if len(text) > _LONGEST_HOST or not _HOST_NAME.fullmatch(text):
        raise UsageError(f"“{text}” is no host name.", "Use its name in the network or its IP address.")
    return text.lower()


def _ipv6(text: str) -> str:
    try:
        if not (text.startswith("[") and text.endswith("]")):
            raise ValueError
        return f"[{ipaddress.IPv6Address(text[1:-1])}]"
    except ValueError:
        raise UsageError(
            f"“{text}” is no IPv6 address.", "Write it in brackets, like [fd00::20]:50052."
        ) from None


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _LARGEST_PORT:
        raise UsageError(
            f"“{text}” is no port.", f"It is a number from 1 to {_LARGEST_PORT:,}; rpc-server’s own is 50052."
        )
    return int(text)
