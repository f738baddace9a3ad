"""A recording names the experts that the counters counted, and recording changes no logit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import TraceFileError
from engine.placement.routing_trace import load_trace
from tests.native.conftest import TinyModels
from tests.support.exact_runs import (
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)


@pytest.mark.parametrize("slots", [11, None])
@pytest.mark.parametrize("variant", ["qwen3moe", "mixed"])
def test_the_trace_holds_every_pick(
    tiny_models: TinyModels, tmp_path: Path, variant: str, slots: int | None
) -> None:
    path, target = tiny_models(variant), tmp_path / "run.trace"
    with loaded(replace(settings_for(path, slots, 16), trace_path=target)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(40), 5)
        experts = backend.experts()
        requests = backend.counters().expert_requests
    assert experts is not None
    assert_identical(ours, run_stock(path, info.unit_tokens, 2, 40, 5, 1).steps)
    trace = load_trace(target)
    assert (trace.moe_layers, trace.top_k, trace.requests) == (info.moe_layers, info.top_k, requests)
    for is_prefill, uses in ((True, experts.prefill_uses), (False, experts.decode_uses)):
        counted = np.zeros_like(uses)
        for step in trace.steps:
            if step.is_prefill is is_prefill:
                counted[step.row, step.experts] += step.picks
        assert np.array_equal(counted, uses)


def test_a_path_that_cannot_be_written_fails_the_load(tiny_models: TinyModels, tmp_path: Path) -> None:
    wanted = replace(settings_for(tiny_models("qwen3moe"), 11, 16), trace_path=tmp_path / "no" / "x")
    with pytest.raises(TraceFileError, match="can't be written"), loaded(wanted):
        pass
