"""Whether an hour with the inspector open leaves its memory flat: ten million events, as fast as they go.

    QT_QPA_PLATFORM=offscreen python -m tests.support.measure_inspector_hour [--events N] [--minutes 60]

A scripted run of `--layers` by `--experts` with the engine's own pace of samples (20 of the counters and 5 of
experts and of layers a second); the rest are tokens of answers. Every view is drawn at the dock's own pace of
the run's time, each for a while. Prints one JSON document: resident MiB after each tenth of the run, and how
far they lie apart after the first, which fills the rings.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtWidgets import QApplication, QTabWidget

from app.inspector.inspector_dock import REFRESH_MS, InspectorDock
from app.telemetry_store import TelemetryStore
from engine.events import (
    Counters,
    CountersSampled,
    EngineState,
    Event,
    GenerationStarted,
    TextDelta,
    TtftPhases,
)
from tests.support.measure_inspector import ScriptedRun
from tests.support.telemetry_events import SECOND_NS, answer_event, state_event

_ANSWER_SECONDS = 30
_COUNTERS_PER_SECOND, _DETAILS_PER_SECOND = 20, 5


def second_of_events(run: ScriptedRun, second: int, texts: int) -> Iterator[Event]:
    """One second of an engine that answers all the time."""
    start_ns = second * SECOND_NS
    if second % _ANSWER_SECONDS == 0:
        if second:
            yield answer_event(second, TtftPhases(prefill_ns=SECOND_NS, first_decode_ns=second))
            yield state_event(second, EngineState.READY)
        yield state_event(second, EngineState.GENERATING)
        yield GenerationStarted(t_ns=start_ns, prompt_tokens=64, cached_tokens=0, context_tokens=4096)
    for step in range(1, _COUNTERS_PER_SECOND + 1):
        t_ns = start_ns + step * SECOND_NS // _COUNTERS_PER_SECOND
        for token in range(texts // _COUNTERS_PER_SECOND):
            yield TextDelta(t_ns=t_ns, text="word ", completion_tokens=token)
        yield CountersSampled(t_ns=t_ns, counters=_counters(second * _COUNTERS_PER_SECOND + step))
        if step % (_COUNTERS_PER_SECOND // _DETAILS_PER_SECOND) == 0:
            yield from (replace(each, t_ns=t_ns) for each in run.sample()[1:])


def _counters(step: int) -> Counters:
    return Counters(
        decode_tokens=step, decode_ns=step * SECOND_NS // 20, disk_wait_decode_ns=step * SECOND_NS // 60,
        bytes_read=step * 10_000_000, expert_requests=90 * step, expert_misses=10 * step, evictions=9 * step,
        requests_by_tier={"disk": 10 * step, "host_pool": 60 * step, "hot": 20 * step},
    )  # fmt: skip


def resident_mib() -> float:
    """Of this process, now."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - not a file to keep a path of
        return int(file.read().split()[1]) * 4096 / (1 << 20)


def measure(seconds: int, events: int, shape: tuple[int, int]) -> dict[str, object]:
    """Play the run."""
    store, run = TelemetryStore(), ScriptedRun(*shape)
    dock = InspectorDock(store)
    dock.resize(460, 900)
    dock.show()
    QApplication.processEvents()
    dock._timer.stop()  # refreshes follow the run's time, not the clock
    tabs = dock.findChild(QTabWidget)
    store.apply(run.start)
    texts = events // seconds - _COUNTERS_PER_SECOND - 2 * _DETAILS_PER_SECOND
    shown_ns, done, refreshes, sizes = 0, 0, 0, []
    for second in range(seconds):
        if second % 60 == 0:
            tabs.setCurrentIndex(second // 60 % tabs.count())
        batch: list[Event] = []
        for event in second_of_events(run, second, texts):
            batch.append(event)
            if event.t_ns - shown_ns >= REFRESH_MS * 1_000_000:
                store.apply(batch)
                done, batch, shown_ns, refreshes = done + len(batch), [], event.t_ns, refreshes + 1
                dock.refresh()
                QApplication.processEvents()
        store.apply(batch)
        done += len(batch)
        if (second + 1) % (seconds // 10) == 0:
            gc.collect()
            sizes.append(round(resident_mib(), 1))
    dock.close()
    return {
        "events": done,
        "refreshes": refreshes,
        "resident_mib": sizes,
        "apart_mib": round(max(sizes[1:]) - min(sizes[1:]), 1),
    }


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--experts", type=int, default=128)
    options = parser.parse_args()
    application = QApplication.instance() or QApplication(sys.argv[:1])
    began = time.perf_counter()
    figures = measure(options.minutes * 60, options.events, (options.layers, options.experts))
    took = round(time.perf_counter() - began, 1)
    sys.stdout.write(json.dumps({**figures, "took_seconds": took}) + "\n")
    application.quit()


if __name__ == "__main__":
    main()
