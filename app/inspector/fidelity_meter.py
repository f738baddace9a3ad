"""What resident routing costs in answers, as a cheap estimate from the counters."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget

from app.inspector.figures import percent_text
from engine.events import Counters
from engine.placement.routing_policy import RoutingCost

# gate mass lost below which the grade holds; the command “fidelity” measures what the estimate can't
_GRADES = (
    (0.01, "nearly exact: hardly any answer changes"),
    (0.05, "close: wording changes, rarely what is meant"),
    (0.15, "clearly different: answers change; check what matters with exact routing"),
)
_WORST = "far from exact: don’t rely on these answers; more slots or exact routing would help"


class FidelityMeter(QLabel):
    """One sentence, shown only while resident routing has routed something."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setAccessibleName("Fidelity of resident routing")
        self.setToolTip(
            "Estimate since the model was loaded. The grade follows the gate mass lost: below 1 % nearly "
            "exact, below 5 % close, below 15 % clearly different. The command “fidelity” measures it."
        )
        self.setVisible(False)

    def draw(self, counters: Counters | None) -> None:
        """Take the newest counters."""
        is_resident = counters is not None and counters.ranks_routed > 0
        self.setVisible(is_resident)
        if counters is not None and is_resident:
            self.setText(fidelity_words(counters))


def fidelity_words(counters: Counters) -> str:
    """Shares and a grade, since the load."""
    cost = RoutingCost.of(counters)
    grade = next((words for limit, words in _GRADES if cost.gate_mass_lost < limit), _WORST)
    return (
        f"Resident routing: {percent_text(cost.replaced_share)} of ranks replaced, "
        f"{percent_text(max(0.0, cost.gate_mass_lost))} of the gate mass lost; {grade}."
    )
