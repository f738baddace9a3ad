"""`serve-device`: lend this machine's memory and processor, or a graphics card, to Emberglass elsewhere."""

from __future__ import annotations

import argparse
import errno
import ipaddress
import os
import signal
import socket

from engine.cli.arguments import positive
from engine.cli.terminal import Terminal
from engine.config import usable_cores
from engine.errors import DeviceError, UsageError
from engine.native.rpc_server import serve

_DEFAULT_PORT, _MOST_PORT = 50052, 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `serve-device`."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default %(default)s: this machine only)"
    )
    parser.add_argument("--port", type=_port, default=_DEFAULT_PORT, metavar="N", help="default %(default)s")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads that compute")
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="a graphics card to lend, as llama.cpp names it (default: the processor and its memory)",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Serve until the process is stopped; returns only if that fails."""
    address = _address(arguments.host)
    _check_free(str(address), arguments.port)
    if not address.is_loopback:
        terminal.note(
            f"Warning: anyone who reaches port {arguments.port} here can use it and read or change "
            "what is computed here: llama.cpp's protocol has no authentication. Only for networks you trust."
        )
    terminal.write(f"Lending “rpc:{arguments.host}:{arguments.port}”; Ctrl+C ends it.\n")
    terminal.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the server is native code that never looks at Python
    serve(str(address), arguments.port, arguments.threads or usable_cores(), tuple(arguments.device))
    return 1


def _port(text: str) -> int:
    port = positive(text)
    if port > _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{port} is no port: the highest is {_MOST_PORT}")
    return port


def _check_free(address: str, port: int) -> None:
    """Before anything is announced: the server itself can't say why it does not get the port."""
    try:
        socket.create_server((address, port)).close()
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise _no_address(address, os.strerror(error.errno)) from error
        raise DeviceError(
            f"Port {port} of {address} can't be opened ({os.strerror(error.errno or 0)}).",
            "Choose another port (--port), or end what uses it.",
        ) from error


def _no_address(host: str, reason: str) -> UsageError:
    return UsageError(
        f"“{host}” is no address of this machine ({reason}).",
        "Use 127.0.0.1, 0.0.0.0 for all of its addresses, or one of them.",
    )


def _address(host: str) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(socket.gethostbyname(host))
    except OSError as error:
        raise _no_address(host, error.strerror or str(error)) from error
