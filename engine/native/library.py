"""The shared libraries inside llama-cpp-python, with the signatures this engine calls.

Nothing here decides; `abi` checks that these are the libraries whose layout we know.
"""

from __future__ import annotations

import ctypes as c
import sys
from functools import cache
from pathlib import Path

import llama_cpp

from engine.errors import AbiError

LOG_CALLBACK = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)

_BASE = {
    "ggml_version": (c.c_char_p, []),
    "ggml_tensor_overhead": (c.c_size_t, []),
    "ggml_set_abort_callback": (c.c_void_p, [c.c_void_p]),
    "ggml_op_desc": (c.c_char_p, [c.c_void_p]),
    "ggml_backend_cpu_buffer_type": (c.c_void_p, []),
    "ggml_backend_cpu_buffer_from_ptr": (c.c_void_p, [c.c_void_p, c.c_size_t]),
    "ggml_backend_buffer_get_type": (c.c_void_p, [c.c_void_p]),
    "ggml_backend_buffer_get_size": (c.c_size_t, [c.c_void_p]),
    "ggml_backend_buffer_free": (None, [c.c_void_p]),
    "ggml_backend_buft_name": (c.c_char_p, [c.c_void_p]),
    "ggml_backend_dev_backend_reg": (c.c_void_p, [c.c_void_p]),
    "ggml_backend_reg_get_proc_address": (c.c_void_p, [c.c_void_p, c.c_char_p]),
    "ggml_init": (c.c_void_p, [c.c_size_t, c.c_void_p, c.c_bool]),
    "ggml_free": (None, [c.c_void_p]),
    "ggml_new_tensor_3d": (c.c_void_p, [c.c_void_p, c.c_int, c.c_int64, c.c_int64, c.c_int64]),
    "ggml_get_rows": (c.c_void_p, [c.c_void_p, c.c_void_p, c.c_void_p]),
    "ggml_set_name": (c.c_void_p, [c.c_void_p, c.c_char_p]),
    "ggml_backend_dev_name": (c.c_char_p, [c.c_void_p]),
    "ggml_backend_dev_description": (c.c_char_p, [c.c_void_p]),
    "ggml_backend_dev_type": (c.c_int, [c.c_void_p]),
    "ggml_backend_dev_get_props": (None, [c.c_void_p, c.c_void_p]),
    "ggml_backend_dev_memory": (None, [c.c_void_p, c.POINTER(c.c_size_t), c.POINTER(c.c_size_t)]),
    "ggml_backend_dev_init": (c.c_void_p, [c.c_void_p, c.c_char_p]),
    "ggml_backend_dev_buffer_type": (c.c_void_p, [c.c_void_p]),
    "ggml_backend_dev_host_buffer_type": (c.c_void_p, [c.c_void_p]),
    "ggml_backend_reg_dev_count": (c.c_size_t, [c.c_void_p]),
    "ggml_backend_reg_dev_get": (c.c_void_p, [c.c_void_p, c.c_size_t]),
    "ggml_backend_buft_alloc_buffer": (c.c_void_p, [c.c_void_p, c.c_size_t]),
    "ggml_backend_buft_get_max_size": (c.c_size_t, [c.c_void_p]),
    "ggml_backend_buft_get_alloc_size": (c.c_size_t, [c.c_void_p, c.c_void_p]),
    "ggml_backend_buffer_get_base": (c.c_void_p, [c.c_void_p]),
    "ggml_backend_buffer_set_usage": (None, [c.c_void_p, c.c_int]),
    "ggml_backend_buffer_clear": (None, [c.c_void_p, c.c_uint8]),
    "ggml_backend_buffer_is_host": (c.c_bool, [c.c_void_p]),
    "ggml_backend_tensor_set": (None, [c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t]),
    "ggml_backend_tensor_get": (None, [c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t]),
    "ggml_backend_tensor_set_async": (None, [c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t]),
    "ggml_backend_synchronize": (None, [c.c_void_p]),
    "ggml_backend_free": (None, [c.c_void_p]),
}
_GGML = {
    "ggml_backend_dev_by_type": (c.c_void_p, [c.c_int]),
    "ggml_backend_dev_count": (c.c_size_t, []),
    "ggml_backend_dev_get": (c.c_void_p, [c.c_size_t]),
    "ggml_backend_reg_by_name": (c.c_void_p, [c.c_char_p]),
}


class GgmlInitParams(c.Structure):
    """`ggml_init_params`, passed by value."""

    _fields_ = (("mem_size", c.c_size_t), ("mem_buffer", c.c_void_p), ("no_alloc", c.c_bool))


class DeviceProperties(c.Structure):
    """`ggml_backend_dev_props`; the last five are its `caps`."""

    _fields_ = (
        ("name", c.c_char_p),
        ("description", c.c_char_p),
        ("memory_free", c.c_size_t),
        ("memory_total", c.c_size_t),
        ("type", c.c_int),
        ("device_id", c.c_char_p),
        ("is_asynchronous", c.c_bool),
        ("has_host_buffer", c.c_bool),
        ("takes_host_pointers", c.c_bool),
        ("has_events", c.c_bool),
        ("can_map", c.c_bool),
    )


def _file_name(stem: str) -> str:
    if sys.platform == "darwin":
        return f"lib{stem}.dylib"
    return f"{stem}.dll" if sys.platform == "win32" else f"lib{stem}.so"


def _open(stem: str, signatures: dict[str, tuple[object, list[object]]]) -> c.CDLL:
    path = Path(llama_cpp.__file__).parent / "lib" / _file_name(stem)
    try:
        library = c.CDLL(str(path))
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise AbiError(
            f"llama.cpp's library {path.name} can't be used.",
            "Reinstall llama-cpp-python==0.3.36 (installer/bootstrap.py setup).",
            str(error),
        ) from error
    return library


@cache
def ggml_base() -> c.CDLL:
    """libggml-base with signatures."""
    library = _open("ggml-base", _BASE)  # type: ignore[arg-type] # ctypes types have no common base
    library.ggml_init.argtypes = [GgmlInitParams]
    return library


@cache
def ggml() -> c.CDLL:
    """libggml (the backend registry) with signatures."""
    return _open("ggml", _GGML)  # type: ignore[arg-type] # ctypes types have no common base


def cpu_device() -> int:
    """Address of the CPU device; raises AbiError if there is none."""
    device = ggml().ggml_backend_dev_by_type(0)
    if not device:
        raise AbiError(
            "This llama.cpp library has no CPU device.",
            "Reinstall llama-cpp-python==0.3.36 (installer/bootstrap.py setup).",
        )
    return int(device)


def cpu_registry() -> int:
    """Address of the CPU backend's registry; raises AbiError if there is none."""
    return int(ggml_base().ggml_backend_dev_backend_reg(cpu_device()))


def pointer_at(address: int) -> c.c_void_p:
    """The pointer-sized field at `address`; read and write its `.value`."""
    return c.c_void_p.from_address(address)
