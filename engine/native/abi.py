"""Start-up check that ggml's structs look as `tensor` says; a different layout is refused, never guessed."""

from __future__ import annotations

import ctypes as c
from functools import cache

import llama_cpp

from engine.errors import AbiError
from engine.native import tensor
from engine.native.library import GgmlInitParams, cpu_registry, ggml_base, pointer_at
from engine.native.repack import RepackedForm, repack_entries, repacked_form

LLAMA_CPP_PYTHON_VERSION = "0.3.36"
_OBJECT_OVERHEAD = 32  # GGML_OBJECT_SIZE, part of ggml_tensor_overhead()
_F32, _I32, _Q4_0 = 0, 26, 2
_EXTRA_BYTES = range(tensor.EXTRA, tensor.EXTRA + 8)


@cache
def check() -> None:
    """Raise AbiError unless version, struct sizes and field positions are the known ones."""
    if llama_cpp.__version__ != LLAMA_CPP_PYTHON_VERSION:
        raise _mismatch(f"version is {llama_cpp.__version__}, not {LLAMA_CPP_PYTHON_VERSION}")
    if c.sizeof(c.c_void_p) != 8:
        raise _mismatch("this is not a 64-bit Python")
    expected = tensor.TENSOR_SIZE + _OBJECT_OVERHEAD
    if ggml_base().ggml_tensor_overhead() != expected:
        raise _mismatch(f"a tensor takes {ggml_base().ggml_tensor_overhead()} bytes, not {expected}")
    _check_tensor_fields()
    _check_buffer_fields()
    _check_registry()
    _check_repacking()


def _mismatch(what: str) -> AbiError:
    return AbiError(
        f"This llama.cpp library does not match the engine: {what}.",
        f"Install llama-cpp-python=={LLAMA_CPP_PYTHON_VERSION} (installer/bootstrap.py setup).",
    )


def _check_tensor_fields() -> None:
    base = ggml_base()
    context = base.ggml_init(GgmlInitParams(1 << 16, None, True))
    try:
        rows = base.ggml_new_tensor_3d(context, _F32, 8, 5, 3)
        ids = base.ggml_new_tensor_3d(context, _I32, 2, 3, 1)
        gather = base.ggml_get_rows(context, rows, ids)
        base.ggml_set_name(rows, b"probe")
        facts = (
            ("name", tensor.name_of(rows), b"probe"),
            ("shape", tensor.shape_of(rows), (8, 5, 3, 1)),
            ("strides", tensor.strides_of(rows), (4, 32, 160, 480)),
            ("data", tensor.data_of(rows), 0),
            ("operands", (tensor.source_of(gather, 0), tensor.source_of(gather, 1)), (rows, ids)),
        )
    finally:
        base.ggml_free(context)
    _compare(facts)


def _check_buffer_fields() -> None:
    base = ggml_base()
    memory = c.create_string_buffer(8192)
    aligned = (c.addressof(memory) + 4095) & ~4095
    buffer = base.ggml_backend_cpu_buffer_from_ptr(aligned, 4096)
    try:
        facts = (
            ("buffer type", pointer_at(buffer + tensor.BUFFER_TYPE).value,
             base.ggml_backend_buffer_get_type(buffer)),
            ("buffer address", pointer_at(buffer + tensor.BUFFER_CONTEXT).value, aligned),
            ("buffer size", pointer_at(buffer + tensor.BUFFER_SIZE).value, 4096),
            ("set_tensor", pointer_at(buffer + tensor.BUFFER_INTERFACE_SET_TENSOR).value is None, False),
            ("alloc_buffer", _makes_buffers(base.ggml_backend_cpu_buffer_type()), True),
        )  # fmt: skip
    finally:
        base.ggml_backend_buffer_free(buffer)
    _compare(facts)


def _makes_buffers(buffer_type: int) -> bool:
    """Whether the entry that `device_weights` wraps is the one that allocates."""
    entry = pointer_at(buffer_type + tensor.BUFFER_TYPE_ALLOC_BUFFER).value
    if not entry:
        return False
    buffer = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t)(entry)(buffer_type, 4096)
    size: int = ggml_base().ggml_backend_buffer_get_size(buffer)
    ggml_base().ggml_backend_buffer_free(buffer)
    return size == 4096


def _check_registry() -> None:
    registry = cpu_registry()
    entry = pointer_at(registry + tensor.REGISTRY_GET_PROC_ADDRESS).value
    if not entry:
        raise _mismatch("the CPU registry has no get_proc_address")
    look_up = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(entry)
    name = b"ggml_backend_cpu_is_numa"
    expected = ggml_base().ggml_backend_reg_get_proc_address(registry, name)
    _compare((("registry entry", look_up(registry, name), expected),))
    if expected is None:
        raise _mismatch("the CPU registry does not answer is_numa")


def _check_repacking() -> None:
    """Where there is repacking: its buffer type and, if it takes Q4_0 here, what it does to a tensor."""
    entries = repack_entries()
    if entries is None:
        return
    get_name = pointer_at(entries.buffer_type + tensor.BUFFER_TYPE_GET_NAME).value
    allocate = pointer_at(entries.buffer_type + tensor.BUFFER_TYPE_ALLOC_BUFFER).value
    if not get_name or not allocate:
        raise _mismatch("the repack buffer type has no name or no memory")
    name = c.CFUNCTYPE(c.c_char_p, c.c_void_p)(get_name)(entries.buffer_type)
    _compare((("repack buffer type", name, b"CPU_REPACK"),))
    form = repacked_form(_Q4_0, 32, 16)
    if form is not None:
        changed = [i for i in range(tensor.TENSOR_SIZE) if form.image[i] != _plain_image()[i]]
        _compare((("extra", all(i in _EXTRA_BYTES for i in changed), True),))
        _check_repacked_rows(form)


def _plain_image() -> bytes:
    base = ggml_base()
    context = base.ggml_init(GgmlInitParams(1 << 12, None, True))
    try:
        return c.string_at(base.ggml_new_tensor_3d(context, _Q4_0, 32, 16, 1), tensor.TENSOR_SIZE)
    finally:
        base.ggml_free(context)


def _check_repacked_rows(form: RepackedForm) -> None:
    """Rows of 18 bytes (a scale, 16 pairs of numbers) come in groups whose scales stand first."""
    rows = b"".join(bytes((row, 0x3C)) + bytes(16) for row in range(16))
    source, target = c.create_string_buffer(rows, len(rows)), c.create_string_buffer(len(rows) + 18)
    form.fill(c.addressof(target), c.addressof(source))
    scales = target.raw[: 2 * 4]  # of the first four rows: no group of Q4_0 is smaller
    _compare(
        (
            ("repacked scales", scales, b"\x00\x3c\x01\x3c\x02\x3c\x03\x3c"),
            ("bytes after the repacked rows", target.raw[len(rows) :], bytes(18)),
        )
    )


def _compare(facts: tuple[tuple[str, object, object], ...]) -> None:
    for what, found, expected in facts:
        if found != expected:
            raise _mismatch(f"{what} is {found!r}, not {expected!r}")
