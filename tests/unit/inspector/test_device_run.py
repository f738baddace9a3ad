"""A recorded run with a device, read back from its file: links, tiers, layers and phases by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.expert_history import Phase
from app.expert_moves import MOVES, Move
from app.inspector.cost_words import cost_rows
from app.inspector.evidence import WINDOW_SECONDS, Evidence
from app.inspector.memory_figures import memory_lines
from app.inspector.slot_figures import tier_figures
from app.inspector.slot_words import tier_texts
from app.inspector.time_words import figures_words
from app.inspector.ttft_comparison import phase_rows
from app.inspector.verdict import verdict
from app.playback import Playback
from app.telemetry_store import TelemetryStore
from engine.events import Counters, CountersSampled, EngineState, Event, GenerationStarted, TtftPhases
from engine.model_facts import DeviceInfo, ModelInfo
from engine.telemetry.trace_file import TraceWriter
from tests.support.telemetry_events import (
    SECOND_NS,
    answer_event,
    experts_event,
    layers_event,
    load_events,
    model_info,
    state_event,
)

HALF_NS = SECOND_NS // 2
CARD = DeviceInfo("CUDA0", "a card", 12 << 30, 2 << 30, 1 << 30, (3, 4, 5), link_bytes_per_second=8e9)
TTFT = TtftPhases(
    queue_ns=20_000_000, template_ns=5_000_000, prefill_ns=HALF_NS, first_decode_ns=75_000_000,
    prefill_disk_wait_ns=100_000_000, prefill_transfer_wait_ns=250_000_000, first_paint_ns=40_000_000,
)  # fmt: skip


def device_model() -> ModelInfo:
    """Per layer 2 experts in the pool, 1 of them hot; 4 slots on the device."""
    slots = dataclasses.replace(model_info().slot_classes[0], hot_per_layer=1, device_slots=4)
    return dataclasses.replace(
        model_info(), slot_classes=(slots,), devices=(CARD,), drive_bytes_per_second=2e9
    )


def device_events() -> Iterator[Event]:
    """In each half second 2 tokens, 1 GB over the link and 0.1 GB from disk; waits of 0.3 s and 0.05 s."""
    yield from load_events(device_model())
    yield state_event(1, EngineState.GENERATING)
    yield GenerationStarted(t_ns=SECOND_NS, prompt_tokens=40, cached_tokens=0, context_tokens=4096)
    for step in range(9):
        t_ns = SECOND_NS + step * HALF_NS
        counters = Counters(
            decode_tokens=2 * step, decode_ns=step * HALF_NS, bytes_read=step * 10**8,
            disk_wait_decode_ns=step * 50_000_000, transfer_wait_decode_ns=step * 300_000_000,
            bytes_by_link={"CUDA0": step * 10**9}, expert_requests=step * 20, expert_misses=step * 2,
            requests_by_tier={"disk": step * 2, "host_pool": step * 8, "vram": step * 10},
        )  # fmt: skip
        yield CountersSampled(t_ns=t_ns, counters=counters)
        tiers = np.zeros((3, 8), int)
        tiers[:, 0], tiers[:, 1 + step % 2] = 4, 2  # one expert of each pool comes and goes
        yield experts_event(t_ns / SECOND_NS, [[step] * 8] * 3, tiers=tiers.tolist())
        quiet, waits = (0, 0, 0), (step * 10_000_000, step * 15_000_000, step * 25_000_000)
        yield layers_event(t_ns / SECOND_NS, disk_wait_ns=(quiet, waits), misses=(quiet, (step, 0, step)))
    yield answer_event(5, TTFT)


@pytest.fixture
def store(tmp_path: Path) -> TelemetryStore:
    """At the end of the recording, read back from a file."""
    path = tmp_path / "device.embertrace"
    writer = TraceWriter(path)
    writer.write(dataclasses.replace(event, seq=seq) for seq, event in enumerate(device_events(), 1))
    writer.close()
    return Playback(path).store


def test_time_and_verdict(store: TelemetryStore) -> None:
    window = store.rates.window(WINDOW_SECONDS)
    assert figures_words(window, store.drive_ceiling, store.link_ceiling) == (
        "Last 4 s: prefill n/a, decode 4.0 tok/s; disk read 200 MB/s, 10 % of the measured maximum (2 GB/s), "
        "47.7 MiB per token; copied to devices 2 GB/s, 25 % of the measured maximum (8 GB/s); "
        "computed 30 % of the time, stood still for the disk 10 %, for the link 60 %."
    )
    evidence = Evidence(
        EngineState.GENERATING, window=window, drive=store.drive_ceiling, link=store.link_ceiling,
        model=store.model,
    )  # fmt: skip
    assert verdict(evidence).sentence == (
        "Waiting for the link 60 % of the last 4 s (2 GB/s copied of the link’s 8 GB/s); "
        "a larger hot zone would help: raise the device’s budget of 2 GiB."
    )


def test_tiers_moves_and_memory(store: TelemetryStore) -> None:
    assert store.model is not None
    assert store.experts is not None
    window, sample = store.rates.window(WINDOW_SECONDS), store.experts.sample
    rows = [tier_texts(row, window) for row in tier_figures(store.model, sample)]
    assert rows == [
        ("VRAM", "3", "4", "2.87 of 3.83 MiB", "50 %"),
        ("RAM pool", "3", "3", "2.87 of 2.87 MiB", "40 %"),
        ("RAM window", "0", "4", "0 B of 3.83 MiB", "0 %"),
        ("on disk only", "18", "", "17.2 MiB", "10 %"),
    ]
    # four samples in less than two seconds, in each of them one comes and one goes per layer
    moved = dict(zip(MOVES, store.experts.moves.counts().tolist(), strict=True))
    assert moved[Move.LOADED] == moved[Move.EVICTED] == [4, 4, 4]
    assert memory_lines(store.model, sample, 0)[-1] == ("budget on CUDA0", "2 GiB", "1 GiB")


def test_layers_lately(store: TelemetryStore) -> None:
    assert store.layers is not None
    assert cost_rows(store.layers.totals(Phase.DECODE, True), store.layers.layers) == [
        ("5", "0 ms", "200 ms", "0 ms", "0 ms", "8"),
        ("4", "0 ms", "120 ms", "0 ms", "0 ms", "0"),
        ("3", "0 ms", "80 ms", "0 ms", "0 ms", "8"),
        ("all 3", "0 ms", "400 ms", "0 ms", "0 ms", "16"),
    ]


def test_phases_with_first_paint_add_up(store: TelemetryStore) -> None:
    rows = {row[0]: row[1] for row in phase_rows(store.answers[-1], None)}
    assert (rows["of it waiting for disk"], rows["of it waiting for the link"]) == ("100 ms", "250 ms")
    assert rows["first paint"] == "40 ms"
    parts = [words for words in rows if words != "time to first token" and not words.startswith("of it")]
    whole = float(rows["time to first token"].removesuffix(" ms"))
    assert sum(float(rows[words].removesuffix(" ms")) for words in parts) == pytest.approx(whole, rel=0.01)
    assert whole == 640
