"""Shares and grades of the fidelity meter."""

from __future__ import annotations

import pytest

from app.inspector.fidelity_meter import fidelity_words
from engine.events import Counters


@pytest.mark.parametrize(
    ("lost", "grade"),
    [(0.0, "nearly exact"), (0.009, "nearly exact"), (0.011, "close"), (0.051, "clearly different"),
     (0.149, "clearly different"), (0.151, "far from exact")],
)  # fmt: skip
def test_the_grade_follows_the_gate_mass(lost: float, grade: str) -> None:
    counters = Counters(
        ranks_routed=1000, ranks_replaced=234, gate_mass_wanted=50.0, gate_mass_used=50.0 * (1 - lost)
    )
    words = fidelity_words(counters)
    assert words.startswith("Resident routing: 23 % of ranks replaced, ")
    assert f"; {grade}:" in words
