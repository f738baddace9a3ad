"""`serve-device`: says who can reach it, and refuses what it can't serve before it announces anything."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from engine.cli import serve_device
from tests.support.command_line import run_engine
from tests.support.device_server import serving_device


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What would be served: the server itself returns at once."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(serve_device, "serve", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(serve_device.signal, "signal", lambda *_: None)
    return calls


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_on_loopback_nobody_is_warned(served: list[tuple[object, ...]], free_port: int, host: str) -> None:
    printed = run_engine("serve-device", "--host", host, "--port", str(free_port), "--threads", "3")
    assert served == [("127.0.0.1", free_port, 3, ())]
    assert f"rpc:{host}:{free_port}" in printed.out
    assert "Warning" not in printed.out + printed.err


def test_all_addresses_come_with_a_warning(served: list[tuple[object, ...]], free_port: int) -> None:
    words = ("--host", "0.0.0.0", "--port", str(free_port), "--device", "CUDA3")
    printed = run_engine("serve-device", *words, "--threads", "1")
    assert served == [("0.0.0.0", free_port, 1, ("CUDA3",))]
    assert "no authentication" in printed.err
    assert f"port {free_port}" in printed.err
    assert "Only for networks you trust" in printed.err


@pytest.mark.parametrize(
    ("words", "code", "fault"),
    [
        (("--port", "70000"), 2, "the highest is 65535"),
        (("--port", "0"), 2, "port"),
        (("--port", "http"), 2, "port"),
        (("--host", "192.0.2.1"), 2, "“192.0.2.1” is no address of this machine"),  # for documentation only
        (("--host", "no.such.host.invalid"), 2, "“no.such.host.invalid” is no address of this machine"),
        (("--threads", "0"), 2, "threads"),
    ],
)
def test_what_is_wrong_is_refused_by_name(
    served: list[tuple[object, ...]], words: tuple[str, ...], code: int, fault: str
) -> None:
    printed = run_engine("serve-device", *words)
    assert printed.code == code
    assert fault in printed.err
    assert "Lending" not in printed.out
    assert not served


def test_a_port_in_use_is_named(served: list[tuple[object, ...]], taken_port: int) -> None:
    printed = run_engine("serve-device", "--port", str(taken_port))
    assert printed.code == 1
    assert f"Port {taken_port} of 127.0.0.1 can't be opened (Address already in use)" in printed.err
    assert "--port" in printed.err
    assert "Lending" not in printed.out
    assert not served


def test_a_second_server_on_one_port_is_refused() -> None:
    with serving_device() as server:
        printed = run_engine("serve-device", "--port", str(server.port))
    assert printed.code == 1
    assert f"Port {server.port}" in printed.err


def test_a_card_that_is_not_there_is_named(free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_device.signal, "signal", lambda *_: None)
    printed = run_engine("serve-device", "--port", str(free_port), "--device", "CUDA7")
    assert printed.code == 2
    assert "no device “CUDA7”" in printed.err
