"""Shares and grades of the fidelity meter."""

from __future__ import annotations

import pytest

from app.inspector.fidelity_meter import changed_tokens_share, fidelity_words
from engine.events import Counters


@pytest.mark.parametrize(("lost", "changed"), [(0.002, 0.018), (0.014, 0.049), (0.054, 0.094)])
def test_the_estimate_meets_what_was_measured(lost: float, changed: float) -> None:
    assert changed_tokens_share(lost) == pytest.approx(changed, rel=0.03)


@pytest.mark.parametrize(
    ("lost", "grade"),
    [(0.0, "nearly exact"), (0.0024, "nearly exact"), (0.0025, "close"), (0.0150, "close"),
     (0.0152, "clearly different"), (0.060, "clearly different"), (0.061, "far from exact")],
)  # fmt: skip
def test_the_grade_follows_the_gate_mass(lost: float, grade: str) -> None:
    counters = Counters(
        ranks_routed=1000, ranks_replaced=234, gate_mass_wanted=50.0, gate_mass_used=50.0 * (1 - lost)
    )
    words = fidelity_words(counters)
    assert words.startswith("Resident routing: 23 % of ranks replaced, ")
    assert f"; {grade}:" in words
