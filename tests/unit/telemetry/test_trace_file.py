"""Recorded events come back equal, without what was said."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from engine.config import Routing
from engine.errors import ErrorInfo, TraceFileError
from engine.events import (
    Counters,
    CountersSampled,
    Event,
    ExpertsSampled,
    GenerationFinished,
    GenerationStarted,
    LayersSampled,
    LoadPhase,
    LoadProgress,
    LoadStarted,
    ModelAdjusted,
    ModelLoaded,
    ModelUnloaded,
    PrefillProgress,
    RequestFailed,
    TextDelta,
    TokensCounted,
    TtftPhases,
)
from engine.telemetry.trace_file import TraceWriter, read_trace
from tests.support.telemetry_events import answer_event, experts_event, load_events, model_info

SECRET = "what was said"


def written(path: Path, *events: Event) -> Path:
    writer = TraceWriter(path)
    writer.write(events)
    writer.close()
    return path


def one_of_each() -> list[Event]:
    counters = Counters(
        prefill_tokens=7, bytes_by_reason={"miss": 3, "dense": 9}, gate_mass_wanted=1.5, ranks_routed=4
    )
    return [
        *load_events(dataclasses.replace(model_info(), notes=("read through the page cache",))),
        LoadProgress(seq=5, phase=LoadPhase.DENSE_READ, done_bytes=1, total_bytes=2, bytes_per_second=3.5),
        GenerationStarted(t_ns=6, prompt_tokens=10, cached_tokens=4, context_tokens=99),
        PrefillProgress(t_ns=7, done_tokens=1, total_tokens=2, cached_tokens=0, elapsed_ns=5),
        CountersSampled(t_ns=8, request_id=3, counters=counters),
        experts_event(1, [[1, 2], [3, 4]], tiers=[[0, 1], [2, 3]]),
        LayersSampled(
            t_ns=8,
            moe_layers=(1, 3),
            disk_wait_ns=((1, 2), (3, 4)),
            transfer_wait_ns=((0, 0), (5, 6)),
            own_ns=((7, 8), (9, 10)),
            compute_ns=((11, 12), (13, 14)),
            misses=((15, 16), (17, 18)),
        ),
        TextDelta(t_ns=9, text=SECRET, completion_tokens=2),
        TokensCounted(t_ns=10, tokens=5, context_tokens=99),
        ModelAdjusted(
            t_ns=10, info=dataclasses.replace(model_info(), routing=Routing.RESIDENT, is_pool_fixed=True)
        ),
        dataclasses.replace(answer_event(2, TtftPhases(queue_ns=1, prefill_disk_wait_ns=3)), text=SECRET),
        RequestFailed(t_ns=11, error=ErrorInfo("DiskReadError", "A read failed.", "Check it.", SECRET)),
        ModelUnloaded(t_ns=12),
    ]


def same(one: Event, other: Event) -> bool:
    if not isinstance(one, ExpertsSampled) or not isinstance(other, ExpertsSampled):
        return one == other
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)]
    return all(np.array_equal(a, b) and getattr(a, "dtype", 0) == getattr(b, "dtype", 0) for a, b in pairs)


def test_all_kinds_of_events_come_back_without_text(tmp_path: Path) -> None:
    events = one_of_each()
    path = written(tmp_path / "run.embertrace", *events)
    read = list(read_trace(path))
    for event, back in zip(events, read, strict=True):
        expected = event
        if isinstance(event, TextDelta | GenerationFinished):
            expected = dataclasses.replace(event, text="")
        if isinstance(event, RequestFailed):
            expected = dataclasses.replace(event, error=dataclasses.replace(event.error, detail=""))
        if isinstance(event, LoadStarted):
            expected = dataclasses.replace(event, path="tiny.gguf")
        if isinstance(event, ModelLoaded | ModelAdjusted):
            expected = dataclasses.replace(event, info=dataclasses.replace(event.info, path="tiny.gguf"))
        assert same(back, expected), (back, expected)
    assert SECRET not in path.read_text(encoding="utf-8")
    assert "/models" not in path.read_text(encoding="utf-8")


def test_arrays_are_compact_and_exact_over_changes(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    uses = random.poisson(3000, (94, 512)).astype(np.int64)
    samples = [experts_event(0, uses.tolist())]
    for t in range(1, 21):
        uses = uses + (random.random(uses.shape) < 8 / 512)
        samples.append(experts_event(t, uses.tolist(), last_pass=np.full_like(uses, t).tolist()))
    samples.append(experts_event(30, [[5, 4]], last_pass=[[1 << 40, 0]]))  # another model
    path = written(tmp_path / "run.embertrace", *samples)
    assert all(same(a, b) for a, b in zip(samples, read_trace(path), strict=True))
    sizes = [len(line) for line in path.read_text(encoding="utf-8").splitlines()[2:22]]
    assert max(sizes) < 20_000  # the arrays are 1.2 MB each time


def test_a_cut_last_line_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "run.embertrace", *load_events(model_info()))
    path.write_bytes(path.read_bytes()[:-5])
    assert len(list(read_trace(path))) == 3


def test_types_of_later_versions_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path / "run.embertrace", ModelUnloaded(t_ns=1))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type":"weather_changed","t_ns":2,"sky":"grey"}\n')
    assert list(read_trace(path)) == [ModelUnloaded(t_ns=1)]


@pytest.mark.parametrize(
    "line",
    [
        "not JSON", "[]", '{"type":"model_unloaded"}', '{"type":"load_started","t_ns":1,"path":5}',
        '{"type":"counters_sampled","t_ns":1,"counters":{"bytes_read":"many"}}',
        '{"type":"state_changed","t_ns":1,"state":"asleep"}', '{"type":"experts_sampled","t_ns":1}',
        '{"type":"model_unloaded","t_ns":Infinity}',
    ],
)  # fmt: skip
def test_broken_events_are_named_faults(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "run.embertrace")
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(TraceFileError):
        list(read_trace(path))


def test_other_files_are_refused_in_words(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n", encoding="utf-8")
    with pytest.raises(TraceFileError, match=r"notes\.txt can't be opened as a recording"):
        list(read_trace(other))
    other.write_text(json.dumps({"type": "emberglass_trace", "version": 9}) + "\n", encoding="utf-8")
    with pytest.raises(TraceFileError, match="version 9"):
        list(read_trace(other))
    with pytest.raises(TraceFileError, match="No such file"):
        list(read_trace(tmp_path / "missing.embertrace"))
    with pytest.raises(TraceFileError, match="can't be written"):
        TraceWriter(tmp_path / "missing" / "run.embertrace")
