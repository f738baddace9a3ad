"""Facts about NVIDIA cards from the driver's own library (NVML), each one on its own or not at all.

Every call may hang for as long as the driver does: only a thread that nobody waits for may make them.
"""

# ruff: noqa: N802 - the protocol has the names of NVML
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

_Value = TypeVar("_Value")


class MemoryInfo(Protocol):
    """Bytes, as nvmlDeviceGetMemoryInfo gives them."""

    used: int
    total: int


class Utilisation(Protocol):
    """Percent of the last sample period in which a kernel ran."""

    gpu: int


class NvmlLibrary(Protocol):
    """What is used of the module `pynvml`; everything may raise its NVMLError."""

    NVMLError: type[Exception]
    NVML_ERROR_GPU_IS_LOST: int
    NVML_PCIE_UTIL_TX_BYTES: int
    NVML_PCIE_UTIL_RX_BYTES: int

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> object: ...
    def nvmlDeviceGetName(self, handle: object) -> str | bytes: ...
    def nvmlDeviceGetMemoryInfo(self, handle: object) -> MemoryInfo: ...
    def nvmlDeviceGetUtilizationRates(self, handle: object) -> Utilisation: ...
    def nvmlDeviceGetPowerUsage(self, handle: object) -> int: ...
    def nvmlDeviceGetPcieThroughput(self, handle: object, counter: int) -> int: ...


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One card now; None where the driver doesn't say. `is_lost`: it fell off the bus or was reset.

    Received and transmitted are seen from the card: received is what the processor sent to it.
    """

    index: int
    name: str
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    utilisation_share: float | None = None
    power_watts: float | None = None
    received_bytes_per_second: float | None = None
    transmitted_bytes_per_second: float | None = None
    is_lost: bool = False


class NvmlSession:
    """The library between nvmlInit and nvmlShutdown; one thread owns it."""

    def __init__(self, library: NvmlLibrary, n_cards: int) -> None:
        self._library, self._n_cards = library, n_cards

    @classmethod
    def open(cls, library: NvmlLibrary | None) -> NvmlSession | None:
        """None without a library, a driver or a card: nothing of it is an error."""
        if library is None:
            return None
        try:
            library.nvmlInit()
        except library.NVMLError:
            return None
        try:
            n_cards = library.nvmlDeviceGetCount()
        except library.NVMLError:
            n_cards = 0
        session = cls(library, n_cards)
        if n_cards:
            return session
        session.close()
        return None

    def read(self) -> tuple[GpuFacts, ...]:
        """All cards; takes about 40 ms each, because NVML measures the PCIe throughput over 20 ms a way."""
        return tuple(_CardReader(self._library, index).read() for index in range(self._n_cards))

    def close(self) -> None:
        with suppress(self._library.NVMLError):
            self._library.nvmlShutdown()


class _CardReader:
    """Reads one card; `_is_lost` is set by the first call that says so."""

    def __init__(self, library: NvmlLibrary, index: int) -> None:
        self._library, self._index, self._is_lost = library, index, False

    def read(self) -> GpuFacts:
        library, unnamed = self._library, GpuFacts(self._index, f"GPU {self._index}")
        handle = self._ask(lambda: library.nvmlDeviceGetHandleByIndex(self._index))
        if handle is None:
            return replace(unnamed, is_lost=self._is_lost)
        name = self._ask(lambda: library.nvmlDeviceGetName(handle))
        memory = self._ask(lambda: library.nvmlDeviceGetMemoryInfo(handle))
        busy = self._ask(lambda: library.nvmlDeviceGetUtilizationRates(handle))
        milliwatts = self._ask(lambda: library.nvmlDeviceGetPowerUsage(handle))
        return GpuFacts(
            index=self._index,
            name=unnamed.name if name is None else _text(name),
            memory_used_bytes=None if memory is None else memory.used,
            memory_total_bytes=None if memory is None else memory.total,
            utilisation_share=None if busy is None else busy.gpu / 100,
            power_watts=None if milliwatts is None else milliwatts / 1000,
            received_bytes_per_second=self._throughput(handle, library.NVML_PCIE_UTIL_RX_BYTES),
            transmitted_bytes_per_second=self._throughput(handle, library.NVML_PCIE_UTIL_TX_BYTES),
            is_lost=self._is_lost,
        )

    def _throughput(self, handle: object, counter: int) -> float | None:
        """NVML counts in KB/s."""
        kilobytes = self._ask(lambda: self._library.nvmlDeviceGetPcieThroughput(handle, counter))
        return None if kilobytes is None else kilobytes * 1000.0

    def _ask(self, call: Callable[[], _Value]) -> _Value | None:
        try:
            return call()
        except self._library.NVMLError as error:
            self._is_lost |= getattr(error, "value", None) == self._library.NVML_ERROR_GPU_IS_LOST
            return None


def nvml_library() -> NvmlLibrary | None:
    """The module that is installed with the program; None where it can't be imported."""
    try:
        import pynvml  # noqa: PLC0415 - 0.2 s that only a sampler's thread may take
    except ImportError:
        return None
    library: NvmlLibrary = pynvml
    return library


def _text(name: str | bytes) -> str:
    """Older versions of the module give bytes."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
