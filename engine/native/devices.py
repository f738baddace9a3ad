"""ggml devices with memory of their own: graphics cards here, and other machines' memory through RPC.

Everything goes through ggml's public API, so nothing here knows a vendor. A device is named as ggml names it
(“CUDA0”), or “rpc:HOST:PORT” for a server elsewhere (see `rpc_relay`, which keeps its loss from ending us).
"""

from __future__ import annotations

import ctypes as c
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.config import format_size
from engine.errors import BudgetError, DeviceLostError, UsageError
from engine.native import abi
from engine.native.library import DeviceProperties, ggml, ggml_base
from engine.native.rpc_relay import RpcRelay
from engine.native.rpc_server import rpc_entry

_CPU, _ACCELERATOR = 0, 3  # kinds of devices that compute in the processor's memory
_USAGE_WEIGHTS = 1
_ADD_SERVER = c.CFUNCTYPE(c.c_void_p, c.c_char_p)
_MOST_PORT = 65535
_RPC_NAME = re.compile(r"rpc:(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What the device says about its memory."""

    free_bytes: int
    total_bytes: int


class Device:
    """One ggml device; `name` as the user wrote it. Owned by the engine thread."""

    def __init__(self, name: str, address: int, relay: RpcRelay | None = None) -> None:
        self.name, self.address, self._relay = name, address, relay
        base = ggml_base()
        self.description = base.ggml_backend_dev_description(address).decode(errors="replace")
        if relay is not None:
            self.description = "memory of another program or machine, through llama.cpp's RPC"
        self.buffer_type = base.ggml_backend_dev_buffer_type(address)

    @property
    def host_buffer_type(self) -> int:
        """Of buffers in this machine's memory that the device copies from by itself; 0: it offers none."""
        return int(ggml_base().ggml_backend_dev_host_buffer_type(self.address) or 0)

    @property
    def is_remote(self) -> bool:
        """Whether it is another program's, through RPC."""
        return self._relay is not None

    @property
    def copies_while_computing(self) -> bool:
        """Whether copies over a link of our own go on while a graph computes.

        ggml's RPC calls itself asynchronous, but has one queue: what is sent first delays what comes after.
        """
        properties = DeviceProperties()
        ggml_base().ggml_backend_dev_get_props(self.address, c.byref(properties))
        return bool(properties.is_asynchronous) and not self.is_remote

    @property
    def fault(self) -> DeviceLostError | None:
        """Why the device can't be used any more; None while it can. Any thread."""
        return self._relay.fault if self._relay is not None else None

    def memory(self) -> DeviceMemory:
        """Free and total memory now; raises DeviceLostError."""
        free, total = c.c_size_t(), c.c_size_t()
        ggml_base().ggml_backend_dev_memory(self.address, c.byref(free), c.byref(total))
        self.check()
        return DeviceMemory(free.value, total.value)

    def check(self) -> None:
        """Raise DeviceLostError if the device is gone."""
        if self.fault is not None:
            raise self.fault

    @property
    def largest_buffer_bytes(self) -> int:
        """No allocation may be larger."""
        return int(ggml_base().ggml_backend_buft_get_max_size(self.buffer_type))

    def allocated_bytes(self, tensor: int) -> int:
        """What a tensor takes there, with the padding that the device's kernels want."""
        return int(ggml_base().ggml_backend_buft_get_alloc_size(self.buffer_type, tensor))

    def allocate(self, size_bytes: int) -> DeviceBuffer:
        """Memory for weights, all zero; raises BudgetError if there is not enough, or DeviceLostError."""
        buffer = ggml_base().ggml_backend_buft_alloc_buffer(self.buffer_type, size_bytes)
        if not buffer:
            self.check()
            raise BudgetError(
                f"The device “{self.name}” refused {format_size(size_bytes)} of memory.",
                "Lower its budget, or close what else uses it.",
                settings=("vram_budget_bytes",),
            )
        return DeviceBuffer(int(buffer))

    def open_link(self) -> DeviceLink:
        """A queue of copies of our own to the device."""
        return DeviceLink(self)


class DeviceBuffer:
    """Memory on a device. `handle`: ggml's buffer; `address`: its start as tensors on it name it."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.size_bytes = int(ggml_base().ggml_backend_buffer_get_size(handle))
        base = ggml_base()
        base.ggml_backend_buffer_set_usage(handle, _USAGE_WEIGHTS)
        # kernels read past the end of a row; what was never written must not look like a NaN
        self.clear()
        self.address = int(base.ggml_backend_buffer_get_base(handle))

    def clear(self) -> None:
        """Make it all zero. A device here has done so when this returns."""
        ggml_base().ggml_backend_buffer_clear(self.handle, 0)

    def close(self) -> None:
        """Free it; idempotent. No tensor may point there any more."""
        if self.handle:
            ggml_base().ggml_backend_buffer_free(self.handle)
            self.handle = 0


class DeviceLink:
    """Copies to one device through a ggml backend of our own, in order; owned by the engine thread."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._backend = ggml_base().ggml_backend_dev_init(device.address, None)
        device.check()

    def send(self, tensor: int, offset: int, address: int, size: int) -> None:
        """Queue a copy of host memory to `offset` of a tensor's data; both stay untouched until `wait`."""
        ggml_base().ggml_backend_tensor_set_async(self._backend, tensor, address, offset, size)

    def wait(self) -> None:
        """Return when the device has all copies, or will before it computes anything; raises DeviceLostError.

        The memory they come from may then be overwritten.
        """
        ggml_base().ggml_backend_synchronize(self._backend)
        self.device.check()

    def close(self) -> None:
        """Free the backend; idempotent."""
        if self._backend:
            ggml_base().ggml_backend_free(self._backend)
            self._backend = None


class DeviceSet:
    """The devices of one load. Empty: the processor alone."""

    def __init__(self, names: Sequence[str]) -> None:
        """Find or connect all of them; raises UsageError or DeviceError by name, and then holds none."""
        self.devices: list[Device] = []
        self._relays: list[RpcRelay] = []
        try:
            for name in dict.fromkeys(names):
                self._open(name)
        except BaseException:
            self.close()
            raise

    def _open(self, name: str) -> None:
        match = _RPC_NAME.fullmatch(name)
        if match is None or int(match["port"]) > _MOST_PORT:
            self.devices.append(Device(name, _local_device(name)))
            return
        relay = RpcRelay(name, match["v6"] or match["host"], int(match["port"]))
        self._relays.append(relay)
        registry = _add_rpc_server(relay.endpoint)
        self.check()
        for index in range(relay.n_devices):
            label = name if index == 0 else f"{name}#{index}"
            address = ggml_base().ggml_backend_reg_dev_get(registry, index)
            self.devices.append(Device(label, int(address), relay))
        self.check()

    def on_lost(self, act: Callable[[], None]) -> None:
        """Call `act` once for each device that is lost, on another thread; from now on nobody else."""
        for relay in self._relays:
            relay.on_lost(act)

    def stop_when(self, is_stopping: Callable[[], bool]) -> None:
        """A device that does not answer while `is_stopping` says so is lost after some time (any thread)."""
        for relay in self._relays:
            relay.patience.is_stopping = is_stopping

    @property
    def fault(self) -> DeviceLostError | None:
        """The first loss among them; any thread."""
        return next((relay.fault for relay in self._relays if relay.fault is not None), None)

    def check(self) -> None:
        """Raise DeviceLostError if one of them is gone."""
        fault = self.fault
        if fault is not None:
            raise fault

    def close(self) -> None:
        """Hang up; after everything on the devices is freed. Idempotent."""
        for relay in self._relays:
            relay.close()
        self._relays.clear()
        self.devices.clear()


def local_device_names() -> tuple[str, ...]:
    """Devices with memory of their own that this build of llama.cpp sees here."""
    base = ggml_base()
    every = [int(ggml().ggml_backend_dev_get(index)) for index in range(ggml().ggml_backend_dev_count())]
    kept = [d for d in every if base.ggml_backend_dev_type(d) not in (_CPU, _ACCELERATOR)]
    return tuple(base.ggml_backend_dev_name(device).decode() for device in kept)


def _local_device(name: str) -> int:
    abi.check()
    names = local_device_names()
    for index in range(ggml().ggml_backend_dev_count()):
        device = int(ggml().ggml_backend_dev_get(index))
        if ggml_base().ggml_backend_dev_name(device).decode() == name and name in names:
            return device
    here = f"Devices here: {', '.join(names)}." if names else "This llama.cpp sees no graphics card here."
    raise UsageError(
        f"There is no device “{name}”.", f"{here} Another machine's memory is named rpc:HOST:PORT."
    )


def _add_rpc_server(endpoint: str) -> int:
    abi.check()
    # not put into ggml's list of devices: whoever walks that would meet devices of peers that are gone
    return int(_ADD_SERVER(rpc_entry(b"ggml_backend_rpc_add_server"))(endpoint.encode()))
