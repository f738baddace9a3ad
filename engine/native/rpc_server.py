"""Lends this machine's memory and processor (or graphics card) to a program elsewhere, by llama.cpp's RPC.

llama.cpp's protocol has no authentication: whoever reaches the port can read and write the lent memory.
"""

from __future__ import annotations

import ctypes as c

from engine.errors import DeviceError, UsageError
from engine.native import abi
from engine.native.library import ggml, ggml_base

_CPU = 0
_START = c.CFUNCTYPE(None, c.c_char_p, c.c_char_p, c.c_size_t, c.c_size_t, c.POINTER(c.c_void_p))


def serve(address: str, port: int, threads: int, device_names: tuple[str, ...] = ()) -> None:
    """Serve until the process is ended; `address` is numeric. The processor is lent if no device is named.

    One program at a time. Raises DeviceError if the port can't be had.
    """
    abi.check()
    start = _START(rpc_entry(b"ggml_backend_rpc_start_server"))
    devices = [_device(name) for name in device_names] or [ggml().ggml_backend_dev_by_type(_CPU)]
    endpoint = f"{address}:{port}".encode()
    start(endpoint, None, threads, len(devices), (c.c_void_p * len(devices))(*devices))
    raise DeviceError(f"Port {port} of {address} can't be opened.", "Choose another port (--port).")


def rpc_entry(name: bytes) -> int:
    """Address of a function of llama.cpp's RPC part; raises DeviceError if this build has none."""
    registry = ggml().ggml_backend_reg_by_name(b"RPC")
    entry = registry and ggml_base().ggml_backend_reg_get_proc_address(registry, name)
    if not entry:
        raise DeviceError(
            "This llama.cpp was built without RPC, so it can't use another machine's memory.",
            "Run installer/bootstrap.py setup, which builds it with RPC.",
        )
    return int(entry)


def _device(name: str) -> int:
    for index in range(ggml().ggml_backend_dev_count()):
        device = int(ggml().ggml_backend_dev_get(index))
        if ggml_base().ggml_backend_dev_name(device).decode() == name:
            return device
    raise UsageError(f"This machine has no device “{name}”.", "Leave it out to lend the processor.")
