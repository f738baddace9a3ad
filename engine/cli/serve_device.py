"""`serve-device`: lend this machine's memory and processor, or a graphics card, to Emberglass elsewhere."""

from __future__ import annotations

import argparse
import ipaddress
import signal
import socket

from engine.cli.arguments import positive
from engine.cli.terminal import Terminal
from engine.config import usable_cores
from engine.errors import UsageError
from engine.native.rpc_server import serve

_DEFAULT_PORT = 50052


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `serve-device`."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default %(default)s: this machine only)"
    )
    parser.add_argument(
        "--port", type=positive, default=_DEFAULT_PORT, metavar="N", help="default %(default)s"
    )
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


def _address(host: str) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(socket.gethostbyname(host))
    except OSError as error:
        raise UsageError(
            f"“{host}” is no address of this machine ({error.strerror or error}).", "Use 127.0.0.1."
        ) from error
