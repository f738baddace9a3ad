"""When repacking pays, worked by hand."""

from __future__ import annotations

import pytest

from engine.config import MIB, Repack
from engine.placement.repack_policy import DecodeBytes, RepackRates, choose_repacking

# rewriting a byte costs 0.8 ns of one core, computing with it repacked saves 0.04 ns of one
RATES = RepackRates(rewritten=0.8e-9, saved=0.04e-9)


def choice(wanted: Repack, computed: float, missed: float, threads: int = 1) -> bool:
    use = DecodeBytes(computed, missed)
    return choose_repacking(wanted, use, missed == 0, threads, RATES).is_repacked


@pytest.mark.parametrize(
    ("missed", "threads", "is_repacked"),
    [
        (0, 1, True),
        (0, 64, True),
        # 400 MiB per token save 16 ms of a core (per MiB: 0.04 ms); 20 MiB of misses cost as much
        (19.9 * MIB, 1, True),
        (20.1 * MIB, 1, False),
        # four threads share what is saved, but one of them may have to do the rewriting
        (4.9 * MIB, 4, True),
        (5.1 * MIB, 4, False),
        (200 * MIB, 2, False),
    ],
)
def test_automatic_weighs_what_is_missed_against_what_is_saved(
    missed: float, threads: int, is_repacked: bool
) -> None:
    assert choice(Repack.AUTO, 400 * MIB, missed, threads) is is_repacked


def test_a_wish_is_a_wish() -> None:
    assert choice(Repack.ON, 400 * MIB, 400 * MIB)
    assert not choice(Repack.OFF, 400 * MIB, 0)


@pytest.mark.parametrize("wanted", [Repack.ON, Repack.AUTO])
def test_without_faster_kernels_nothing_is_repacked(wanted: Repack) -> None:
    found = choose_repacking(wanted, DecodeBytes(0, 0), True, 2, RATES)
    assert not found.is_repacked
    assert "faster form" in found.reason


def test_the_reason_names_what_must_be_read() -> None:
    use = DecodeBytes(400 * MIB, 200 * MIB)
    assert "200 MiB" in choose_repacking(Repack.AUTO, use, False, 2, RATES).reason
    assert "all experts fit" in choose_repacking(Repack.AUTO, use, True, 2, RATES).reason
    assert choose_repacking(Repack.OFF, use, False, 2, RATES).reason == ""


def test_default_rates_repack_nothing_that_is_missed_often() -> None:
    # one byte of twenty-five read per token would already cost more than all the others save
    use = DecodeBytes(100.0, 5.0)
    assert not choose_repacking(Repack.AUTO, use, False, 1, RepackRates()).is_repacked
