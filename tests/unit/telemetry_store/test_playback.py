"""Scrubbing gives the same figures in any direction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app import playback as playback_module
from app.expert_history import HeatWindow, Phase
from app.playback import Playback
from app.telemetry_store import TelemetryStore
from engine.errors import TraceFileError
from engine.telemetry.trace_file import TraceWriter
from tests.support.make_golden_trace import golden_events

SECOND = 1_000_000_000
GOLDEN = Path(__file__).parents[2] / "golden" / "small_run.embertrace"


def figures(store: TelemetryStore) -> tuple[object, ...]:
    uses = store.experts.uses(Phase.BOTH, HeatWindow.DECAYING).round(6).tolist() if store.experts else None
    model = store.model.name if store.model else None
    return store.counters, model, len(store.answers), store.rates.window(5), uses, store.context_used_tokens


def direct(until_ns: int) -> TelemetryStore:
    """The same events applied without a file."""
    store = TelemetryStore()
    store.apply([event for event in golden_events() if event.t_ns <= until_ns])
    return store


def test_it_opens_at_the_end() -> None:
    playback = Playback(GOLDEN)
    assert playback.span_ns == 14_500_000_000
    assert figures(playback.store) == figures(direct(playback.span_ns))


def test_seeks_forth_and_back_agree_with_applying_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playback_module, "_LEAST_BETWEEN_CHECKPOINTS", 7)
    playback = Playback(GOLDEN)
    for tenths in np.random.default_rng(3).integers(0, 150, 25).tolist():
        t_ns = tenths * SECOND // 10
        playback.seek(t_ns)
        assert figures(playback.store) == figures(direct(t_ns)), tenths


def test_an_empty_recording_shows_nothing(tmp_path: Path) -> None:
    TraceWriter(tmp_path / "empty.embertrace").close()
    playback = Playback(tmp_path / "empty.embertrace")
    playback.seek(5)
    assert (playback.span_ns, playback.store.model) == (0, None)


def test_a_broken_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.embertrace"
    path.write_bytes(GOLDEN.read_bytes().replace(b'"bytes_read":100000000', b'"bytes_read":"x"', 1))
    with pytest.raises(TraceFileError):
        Playback(path)
