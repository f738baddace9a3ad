"""The sampler reads only while it is wanted, and nobody waits for a driver that hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from engine.hardware.nvml import NvmlLibrary
from engine.telemetry.gpu_sampler import GpuSampler
from tests.support.fake_nvml import DRIVER_NOT_LOADED, FakeCard, FakeNvml

_PATIENCE_SECONDS = 10.0
MakeSampler = Callable[[Callable[[], NvmlLibrary | None]], GpuSampler]


@pytest.fixture
def make_sampler() -> Iterator[MakeSampler]:
    """Samplers that don't wait between samples; closed after the test."""
    made: list[GpuSampler] = []

    def make(library: Callable[[], NvmlLibrary | None]) -> GpuSampler:
        made.append(GpuSampler(library, 0.001, lambda: 7))
        return made[-1]

    yield make
    for sampler in made:
        sampler.close(_PATIENCE_SECONDS)
        assert not sampler.is_running


def _until(is_so: Callable[[], bool]) -> None:
    """Poll without holding the interpreter."""
    gate = threading.Event()
    for _ in range(10_000):
        if is_so():
            return
        gate.wait(0.001)
    raise AssertionError("it never came")


def test_nothing_runs_before_somebody_wants_it(make_sampler: MakeSampler) -> None:
    library = FakeNvml(FakeCard())
    sampler = make_sampler(lambda: library)
    assert (sampler.is_running, sampler.latest, library.calls) == (False, None, [])


def test_it_samples_while_wanted_and_closes_the_library_after(make_sampler: MakeSampler) -> None:
    library = FakeNvml(FakeCard())
    sampler = make_sampler(lambda: library)
    sampler.set_wanted(True)
    _until(lambda: library.calls.count("PowerUsage") >= 3)
    assert sampler.latest is not None
    assert sampler.latest.t_ns == 7
    assert sampler.latest.cards[0].memory_used_bytes == 3 << 30
    sampler.set_wanted(False)
    _until(lambda: library.calls[-1] == "shutdown" and sampler.latest is None)
    sampler.set_wanted(True)
    _until(lambda: sampler.latest is not None)
    assert library.calls.count("init") == 2


@pytest.mark.parametrize("library", [None, FakeNvml(), FakeNvml(FakeCard(), init_error=DRIVER_NOT_LOADED)])
def test_without_a_card_nothing_is_polled(make_sampler: MakeSampler, library: FakeNvml | None) -> None:
    sampler = make_sampler(lambda: library)
    sampler.set_wanted(True)
    _until(lambda: sampler.has_cards is False and not sampler.is_running)
    sampler.set_wanted(False)
    sampler.set_wanted(True)
    assert not sampler.is_running
    assert sampler.latest is None


def test_a_driver_that_hangs_keeps_nobody(make_sampler: MakeSampler) -> None:
    library = FakeNvml(FakeCard())
    library.gate.clear()
    sampler = make_sampler(lambda: library)
    sampler.set_wanted(True)
    assert library.is_inside.wait(_PATIENCE_SECONDS)
    sampler.close(0.001)
    assert sampler.is_running  # still inside the driver, and this thread went on
    assert sampler.latest is None
    library.gate.set()
