"""When repacking pays, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import MIB, Repack
from engine.placement.repack_policy import DecodeBytes, RepackRates, choose_repacking

RATES = RepackRates(
    plain=0.16e-9, repacked=0.1e-9, memory=0.04e-9, rewriting={"Q4_0": 0.3e-9}, rewriting_others=0.6e-9
)


def choice(wanted: Repack, computed: float, missed: float, threads: int = 2, kind: str = "Q4_0") -> bool:
    use = DecodeBytes(computed, {kind: missed})
    return choose_repacking(wanted, use, missed == 0, threads, RATES).is_repacked


@pytest.mark.parametrize(
    ("threads", "saved"),
    [
        (1, 0.06),  # 0.16 - 0.10
        (2, 0.03),
        (3, 0.16 / 3 - 0.04),  # repacked, three cores wait for the memory
        (4, 0.0),
        (16, 0.0),
    ],
)
def test_what_kernels_save_ends_where_the_memory_bounds_both(threads: int, saved: float) -> None:
    assert RATES.saved(threads) == pytest.approx(saved * 1e-9)


def test_rewriting_costs_by_type_and_is_shared_a_little() -> None:
    missed = {"Q4_0": 10e6, "Q4_K": 5e6}
    assert RATES.rewritten(missed, 1) == pytest.approx(3e-3 + 3e-3)
    assert RATES.rewritten(missed, 2) == RATES.rewritten(missed, 8) == pytest.approx(4e-3)


@pytest.mark.parametrize(
    ("missed", "threads", "kind", "is_repacked"),
    [
        (0, 2, "Q4_0", True),
        (0, 64, "Q4_0", True),
        # 400 MiB per token save 0.03 ns a byte; 60 MiB cost 0.3 ns a byte, by one core and a half
        (59.9 * MIB, 2, "Q4_0", True),
        (60.1 * MIB, 2, "Q4_0", False),
        # K types cost twice as much
        (29.9 * MIB, 2, "Q4_K", True),
        (30.1 * MIB, 2, "Q4_K", False),
        # one thread saves 0.06 ns a byte and rewrites alone
        (79.9 * MIB, 1, "Q4_0", True),
        (80.1 * MIB, 1, "Q4_0", False),
        # nothing is saved, so no miss is worth it
        (0.1 * MIB, 4, "Q4_0", False),
    ],
)
def test_automatic_weighs_what_is_missed_against_what_is_saved(
    missed: float, threads: int, kind: str, is_repacked: bool
) -> None:
    assert choice(Repack.AUTO, 400 * MIB, missed, threads, kind) is is_repacked


def test_a_wish_is_a_wish() -> None:
    assert choice(Repack.ON, 400 * MIB, 400 * MIB)
    assert not choice(Repack.OFF, 400 * MIB, 0)


@pytest.mark.parametrize("wanted", [Repack.ON, Repack.AUTO])
def test_without_faster_kernels_nothing_is_repacked(wanted: Repack) -> None:
    found = choose_repacking(wanted, DecodeBytes(0, {}), True, 2, RATES)
    assert not found.is_repacked
    assert "faster form" in found.reason


def test_the_reason_names_what_must_be_read() -> None:
    use = DecodeBytes(400 * MIB, {"Q4_0": 150 * MIB, "Q4_K": 50 * MIB})
    assert "200 MiB" in choose_repacking(Repack.AUTO, use, False, 2, RATES).reason
    assert "all experts fit" in choose_repacking(Repack.AUTO, use, True, 2, RATES).reason
    assert choose_repacking(Repack.OFF, use, False, 2, RATES).reason == ""


@pytest.mark.parametrize(
    ("kind", "computed", "missed", "is_repacked"),
    [
        # megabytes per token as measured on two cores, and which side was the faster
        ("Q4_0", 370, 12, True),  # 1.46 times
        ("Q4_K", 125, 29, False),  # 0.81
        ("Q2_K", 80, 17.5, False),  # 0.82
        ("MXFP4", 118, 1.0, True),  # 1.37
    ],
)
def test_default_rates_decide_as_was_measured(
    kind: str, computed: float, missed: float, is_repacked: bool
) -> None:
    use = DecodeBytes(computed * 1e6, {kind: missed * 1e6})
    assert choose_repacking(Repack.AUTO, use, False, 2, RepackRates()).is_repacked is is_repacked


@given(
    computed=st.floats(1, 1e10),
    missed=st.dictionaries(st.sampled_from(["Q4_0", "MXFP4", "Q4_K", "Q6_K"]), st.floats(0, 1e10)),
    threads=st.integers(1, 64),
    is_fully_resident=st.booleans(),
)
def test_automatic_is_never_predicted_slower_than_either(
    computed: float, missed: dict[str, float], threads: int, is_fully_resident: bool
) -> None:
    """Seconds per token by the rates themselves; what must be read takes as long in both layouts."""
    rates = RepackRates()
    missed = {} if is_fully_resident else missed
    plain = computed * max(rates.plain / threads, rates.memory)
    rewriting = sum(n * (0.6e-9 if kind.endswith("_K") else 0.2e-9) for kind, n in missed.items())
    repacked = computed * max(rates.repacked / threads, rates.memory) + rewriting / min(threads, 1.5)
    use = DecodeBytes(computed, missed)
    found = choose_repacking(Repack.AUTO, use, is_fully_resident, threads, rates)
    predicted = repacked if found.is_repacked else plain
    assert predicted <= min(plain, repacked) * (1 + 1e-9)
    assert found.reason
