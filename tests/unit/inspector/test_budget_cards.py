"""What the driver says about graphics cards, as rows."""

from __future__ import annotations

from app.inspector.budget_cards import card_rows
from engine.hardware.nvml import GpuFacts
from engine.telemetry.gpu_sampler import GpuSample

_SECOND = 1_000_000_000
_CARD = GpuFacts(0, "Test Card", 3 << 30, 12 << 30, 0.42, 61.5, 1.25e9, 40_000.0)


def test_without_a_card_there_is_no_row() -> None:
    assert card_rows(None, 0) == []


def test_every_figure_has_its_unit() -> None:
    assert card_rows(GpuSample(0, (_CARD,)), _SECOND) == [
        ("Test Card", ""),
        ("  memory used", "3 of 12 GiB"),
        ("  busy", "42 %"),
        ("  power", "62 W"),
        ("  PCIe, to the card", "1.25 GB/s"),
        ("  PCIe, from the card", "40 kB/s"),
    ]


def test_what_is_missing_is_missing_alone() -> None:
    card = GpuFacts(0, "Test Card", None, 12 << 30, 0.0, None, 0.0, None)
    assert [figure for _, figure in card_rows(GpuSample(0, (card,)), 0)] == [
        "", "n/a", "0 %", "n/a", "0 B/s", "n/a",
    ]  # fmt: skip


def test_a_lost_card_says_what_to_do() -> None:
    rows = card_rows(GpuSample(0, (GpuFacts(0, "Test Card", is_lost=True), _CARD)), 0)
    assert rows[0] == ("Test Card", "lost: the driver can’t reach it any more; restart the machine")
    assert rows[2] == ("  memory used", "3 of 12 GiB")


def test_figures_of_a_driver_that_hangs_are_not_shown_as_new() -> None:
    rows = dict(card_rows(GpuSample(0, (_CARD,)), 12 * _SECOND))
    assert rows["  memory used"] == rows["  power"] == "n/a"
    assert rows["last answer of the driver"] == "12 s ago"
