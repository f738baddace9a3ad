"""What resident routing costs in answers, as a cheap estimate from the counters."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QLabel, QWidget

from app.inspector.figures import percent_text
from engine.config import Routing
from engine.events import Counters
from engine.placement.routing_policy import RoutingCost

# The demo model on a text, teacher-forced (`python -m engine fidelity`), with 30, 20 and 10 slots for 32
# experts: gate mass lost 0.2, 1.4 and 5.4 %, another likeliest token at 1.8, 4.9 and 9.4 % of places. So the
# share of tokens that change grows with the root of the mass: 0.40, 0.41 and 0.40 times.
_CHANGED_PER_ROOT = 0.407
# share of tokens that change below which the grade holds
_GRADES = (
    (0.02, "nearly exact: at most about 1 token in 50 is another one"),
    (0.05, "close: about 1 token in 20 is another one; wording changes, rarely what is meant"),
    (0.10, "clearly different: about 1 token in 10 is another one; check what matters with exact routing"),
)
_WORST = "far from exact: don’t rely on these answers; more slots or exact routing would help"
_HELP = (
    f"Estimate since the load. The share of tokens that change is about {_CHANGED_PER_ROOT} times "
    "the root of the gate mass lost; so it was with the demo model and slots for a third, two thirds and "
    "almost all of its experts (5.4, 1.4 and 0.2 % of the mass lost; 9.4, 4.9 and 1.8 % of tokens changed). "
    "Other models differ: the command “fidelity” measures this one."
)


class FidelityMeter(QLabel):
    """One sentence, shown only if resident routing has routed something since the load."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setAccessibleName("Fidelity of resident routing")
        self.setToolTip(_HELP)
        self.setVisible(False)

    def draw(self, counters: Counters | None, routing: Routing | None) -> None:
        """Take the newest counters; `routing` is in force now (None: nobody told)."""
        was_resident = counters is not None and counters.ranks_routed > 0
        self.setVisible(was_resident)
        if counters is not None and was_resident:
            self.setText(fidelity_words(counters, is_over=routing is Routing.EXACT))


def fidelity_words(counters: Counters, is_over: bool = False) -> str:
    """Shares and a grade, since the load, also after resident routing is over."""
    cost = RoutingCost.of(counters)
    changed = changed_tokens_share(cost.gate_mass_lost)
    grade = next((words for limit, words in _GRADES if changed < limit), _WORST)
    until = ", until it was switched off" if is_over else ""
    return (
        f"Resident routing{until}: {percent_text(cost.replaced_share)} of ranks replaced, "
        f"{percent_text(max(0.0, cost.gate_mass_lost))} of the gate mass lost; {grade}."
    )


def changed_tokens_share(gate_mass_lost: float) -> float:
    """About how many tokens are others than with exact routing, 0..1; see _CHANGED_PER_ROOT."""
    return _CHANGED_PER_ROOT * math.sqrt(max(0.0, gate_mass_lost))
