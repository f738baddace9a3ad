"""What one refresh of each tab of the inspector costs the window's thread, at the size of a large model.

    QT_QPA_PLATFORM=offscreen python -m tests.support.measure_inspector [--layers 94] [--experts 512]

Prints one JSON document: CPU milliseconds per refresh and tab, figures and painting together, the median of
`--rounds` refreshes with new samples. Experts are measured in both orders of places.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

import numpy as np
from PySide6.QtWidgets import QApplication, QComboBox, QTabWidget

from app.inspector.inspector_dock import InspectorDock
from app.telemetry_store import TelemetryStore
from engine.events import CountersSampled, Event, ExpertsSampled, LayersSampled, TtftPhases
from engine.placement.tier import Tier
from tests.support.telemetry_events import SECOND_NS, answer_event, counters_event, load_events, model_info

STEP_NS = SECOND_NS // 5


class ScriptedRun:
    """Samples of a decoding model: skewed picks, a resident pool of 20 per layer, 5 of it hot."""

    def __init__(self, layers: int, experts: int) -> None:
        self._random = np.random.default_rng(1)
        self._layers = tuple(range(3, 3 + layers))
        weights = 1 / np.arange(1, experts + 1)
        self._chances = np.array([self._random.permutation(weights) for _ in self._layers])
        self._uses = self._random.poisson(self._chances * 200).astype(np.int64)
        self._places = np.argsort(-self._chances, axis=1)[:, :20]
        self._steps = 0
        self.start = load_events(model_info(self._layers, experts))

    def sample(self) -> list[Event]:
        """A fifth of a second later."""
        self._steps += 1
        self._uses = self._uses + self._random.poisson(self._chances * 5)
        # one expert of each pool is another one each time
        self._places[:, 19] = (self._places[:, 19] + 1) % self._uses.shape[1]
        tiers = np.zeros(self._uses.shape, np.uint8)
        np.put_along_axis(tiers, self._places, Tier.HOST_POOL, axis=1)
        np.put_along_axis(tiers, self._places[:, :5], Tier.HOT, axis=1)
        experts = ExpertsSampled(
            t_ns=self._steps * STEP_NS, moe_layers=self._layers, prefill_uses=self._uses // 2,
            decode_uses=self._uses - self._uses // 2, tiers=tiers,
            last_use_pass=np.full_like(self._uses, self._steps),
        )  # fmt: skip
        counters: CountersSampled = counters_event(
            self._steps / 5, bytes_read=self._steps * 10**8, decode_tokens=self._steps * 2,
            decode_ns=self._steps * STEP_NS, disk_wait_decode_ns=self._steps * STEP_NS // 3,
            expert_requests=self._steps * 900, expert_misses=self._steps * 100,
        )  # fmt: skip
        waits = tuple(self._uses.sum(axis=1).tolist())
        pair = waits, waits
        layers = LayersSampled(
            t_ns=self._steps * STEP_NS, moe_layers=self._layers, disk_wait_ns=pair, transfer_wait_ns=pair,
            own_ns=pair, compute_ns=pair, misses=pair,
        )  # fmt: skip
        return [counters, experts, layers]


def refresh_ms(dock: InspectorDock, store: TelemetryStore, run: ScriptedRun, rounds: int) -> float:
    """Median CPU time of drawing one sample, painting included."""
    times = []
    for _ in range(rounds):
        store.apply(run.sample())
        began = time.thread_time()
        dock.refresh()
        QApplication.processEvents()
        times.append((time.thread_time() - began) * 1e3)
    return round(statistics.median(times), 2)


def measure(layers: int, experts: int, rounds: int) -> dict[str, float]:
    """Milliseconds per refresh, by tab."""
    store, run = TelemetryStore(), ScriptedRun(layers, experts)
    dock = InspectorDock(store)
    dock.resize(520, 900)
    dock.show()
    store.apply([*run.start, *(event for _ in range(600) for event in run.sample())])
    store.apply([answer_event(121, TtftPhases(queue_ns=1, prefill_ns=SECOND_NS)) for _ in range(8)])
    QApplication.processEvents()
    dock._timer.stop()  # refreshes are asked for one by one
    tabs = dock.findChild(QTabWidget)
    figures: dict[str, float] = {}
    for index in range(tabs.count()):
        tabs.setCurrentIndex(index)

        figures[tabs.tabText(index)] = refresh_ms(dock, store, run, rounds)
        if index == 0:
            box = next(b for b in dock.findChildren(QComboBox) if b.accessibleName() == "Order of experts")
            box.setCurrentIndex(1)
            figures["Experts, by uses"] = refresh_ms(dock, store, run, rounds)
            box.setCurrentIndex(0)
    dock.close()
    return figures


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=94)
    parser.add_argument("--experts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    application = QApplication.instance() or QApplication(sys.argv[:1])
    figures = measure(options.layers, options.experts, options.rounds)
    sys.stdout.write(json.dumps({"unit": "ms per refresh", **figures}) + "\n")
    application.quit()


if __name__ == "__main__":
    main()
