"""Each figure of a card is there or not there, on its own."""

from __future__ import annotations

import pynvml
import pytest

from engine.hardware.nvml import GpuFacts, NvmlSession, nvml_library
from tests.support.fake_nvml import DRIVER_NOT_LOADED, GPU_IS_LOST, NOT_SUPPORTED, FakeCard, FakeNvml

_WHOLE = GpuFacts(
    index=0,
    name="Test Card",
    memory_used_bytes=3 << 30,
    memory_total_bytes=12 << 30,
    utilisation_share=0.42,
    power_watts=61.5,
    received_bytes_per_second=1.25e9,
    transmitted_bytes_per_second=40_000.0,
)
_FIELDS = {
    "MemoryInfo": {"memory_used_bytes", "memory_total_bytes"},
    "UtilizationRates": {"utilisation_share"},
    "PowerUsage": {"power_watts"},
    "PcieThroughput": {"received_bytes_per_second", "transmitted_bytes_per_second"},
}


def _read(*cards: FakeCard) -> tuple[GpuFacts, ...]:
    session = NvmlSession.open(FakeNvml(*cards))
    assert session is not None
    return session.read()


def test_a_card_that_tells_everything() -> None:
    assert _read(FakeCard()) == (_WHOLE,)


@pytest.mark.parametrize("question", list(_FIELDS))
def test_what_a_card_does_not_support_is_missing_alone(question: str) -> None:
    (facts,) = _read(FakeCard(errors={question: NOT_SUPPORTED}))
    for name in GpuFacts.__slots__:
        expected = None if name in _FIELDS[question] else getattr(_WHOLE, name)
        assert getattr(facts, name) == expected, name


def test_a_card_without_a_name_has_its_number() -> None:
    facts = _read(FakeCard(), FakeCard(errors={"Name": NOT_SUPPORTED}))
    assert [card.name for card in facts] == ["Test Card", "GPU 1"]


def test_names_as_bytes() -> None:
    assert _read(FakeCard(name="GeForce é".encode()))[0].name == "GeForce é"


@pytest.mark.parametrize("question", ["HandleByIndex", "MemoryInfo", "PcieThroughput"])
def test_a_lost_card_is_named_and_the_other_goes_on(question: str) -> None:
    lost, other = _read(FakeCard(errors={question: GPU_IS_LOST}), FakeCard())
    assert lost.is_lost
    assert not other.is_lost
    assert other.power_watts == 61.5


def test_without_library_driver_or_card_there_is_no_session() -> None:
    no_driver, no_card = FakeNvml(FakeCard(), init_error=DRIVER_NOT_LOADED), FakeNvml()
    assert NvmlSession.open(None) is None
    assert NvmlSession.open(no_driver) is None
    assert NvmlSession.open(no_card) is None
    assert (no_driver.calls, no_card.calls) == (["init"], ["init", "shutdown"])


def test_the_real_module_has_what_the_protocol_names() -> None:
    library = nvml_library()
    assert library is pynvml
    assert pynvml.NVML_ERROR_GPU_IS_LOST == GPU_IS_LOST
    assert pynvml.NVMLError(GPU_IS_LOST).value == GPU_IS_LOST
    assert all(hasattr(pynvml, name) for name in dir(FakeNvml) if name.startswith(("nvml", "NVML")))
