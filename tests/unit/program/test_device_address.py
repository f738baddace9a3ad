"""Addresses of other machines: what is accepted, what is meant, what is refused with which words."""

from __future__ import annotations

import pytest

from app.settings.device_address import is_loopback, parse_address
from engine.errors import UsageError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.168.1.20:50052", "rpc:192.168.1.20:50052"),
        (" rpc:Big-Box.local:1 ", "rpc:big-box.local:1"),
        ("RPC:box:65535", "rpc:box:65535"),
        ("[fd00:0:0::20]:50052", "rpc:[fd00::20]:50052"),
        ("localhost:50052", "rpc:localhost:50052"),
    ],
)
def test_accepted(text: str, address: str) -> None:
    assert parse_address(text) == address
    assert parse_address(address) == address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "“” names no port."),
        ("box", "“box” names no port."),
        (":50052", "“:50052” names no port."),
        ("box:", "“” is no port."),
        ("box:0", "“0” is no port."),
        ("box:65536", "“65536” is no port."),
        ("box:５", "“５” is no port."),
        ("300.1.1.1:5", "“300.1.1.1” is no IP address."),
        ("1.2.3:5", "“1.2.3” is no IP address."),
        ("two words:5", "“two words” is no host name."),
        ("-box:5", "“-box” is no host name."),
        ("a..b:5", "“a..b” is no host name."),
        ("a" * 254 + ":5", "is no host name."),
        ("fd00::zz:5", "“fd00::zz” is no IPv6 address."),
        ("[::1:5", "“[::1” is no IPv6 address."),
        ("::1]:5", "“::1]” is no IPv6 address."),
    ],
)
def test_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert words in caught.value.fault
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("address", "is_here"),
    [
        ("rpc:127.0.0.1:50052", True),
        ("rpc:127.8.8.8:1", True),
        ("rpc:[::1]:1", True),
        ("rpc:localhost:1", True),
        ("rpc:localhost.:1", True),
        ("rpc:localhost.evil.example:1", False),
        ("rpc:127.0.0.1.example:1", False),
        ("rpc:192.168.1.20:50052", False),
        ("rpc:0.0.0.0:1", False),
        ("rpc:[fd00::20]:1", False),
    ],
)
def test_only_this_machine_is_loopback(address: str, is_here: bool) -> None:
    assert is_loopback(address) is is_here
