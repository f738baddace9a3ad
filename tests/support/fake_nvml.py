"""A stand-in for the module pynvml: cards whose answers a test chooses."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

NOT_SUPPORTED, DRIVER_NOT_LOADED, GPU_IS_LOST = 3, 9, 15


class FakeNvmlError(Exception):
    """As NVMLError: the code is in `value`."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class FakeCard:
    """`errors` maps the end of a function's name, such as “PowerUsage”, to the code that it raises."""

    name: str | bytes = "Test Card"
    used: int = 3 << 30
    total: int = 12 << 30
    busy_percent: int = 42
    milliwatts: int = 61_500
    received_kilobytes: int = 1_250_000
    transmitted_kilobytes: int = 40
    errors: dict[str, int] = field(default_factory=dict)


class FakeNvml:
    """`calls` lists what was asked; `gate` cleared makes nvmlDeviceGetMemoryInfo hang."""

    NVMLError = FakeNvmlError
    NVML_ERROR_GPU_IS_LOST = GPU_IS_LOST
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1

    def __init__(self, *cards: FakeCard, init_error: int | None = None) -> None:
        self.cards, self.init_error = cards, init_error
        self.calls: list[str] = []
        self.gate, self.is_inside = threading.Event(), threading.Event()
        self.gate.set()

    def nvmlInit(self) -> None:
        self.calls.append("init")
        if self.init_error is not None:
            raise FakeNvmlError(self.init_error)

    def nvmlShutdown(self) -> None:
        self.calls.append("shutdown")

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeCard:
        return self._card(self.cards[index], "HandleByIndex")

    def nvmlDeviceGetName(self, handle: FakeCard) -> str | bytes:
        return self._card(handle, "Name").name

    def nvmlDeviceGetMemoryInfo(self, handle: FakeCard) -> SimpleNamespace:
        self.is_inside.set()
        assert self.gate.wait(10)
        card = self._card(handle, "MemoryInfo")
        return SimpleNamespace(used=card.used, total=card.total)

    def nvmlDeviceGetUtilizationRates(self, handle: FakeCard) -> SimpleNamespace:
        return SimpleNamespace(gpu=self._card(handle, "UtilizationRates").busy_percent)

    def nvmlDeviceGetPowerUsage(self, handle: FakeCard) -> int:
        return self._card(handle, "PowerUsage").milliwatts

    def nvmlDeviceGetPcieThroughput(self, handle: FakeCard, counter: int) -> int:
        card = self._card(handle, "PcieThroughput")
        is_received = counter == self.NVML_PCIE_UTIL_RX_BYTES
        return card.received_kilobytes if is_received else card.transmitted_kilobytes

    def _card(self, card: FakeCard, question: str) -> FakeCard:
        self.calls.append(question)
        if question in card.errors:
            raise FakeNvmlError(card.errors[question])
        return card
