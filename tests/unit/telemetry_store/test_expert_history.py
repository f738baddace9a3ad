"""Windows over per-expert counters."""

from __future__ import annotations

import pytest

from app.expert_history import HALF_LIFE_SECONDS, ExpertHistory, HeatWindow, Phase
from tests.support.telemetry_events import experts_event


def test_phases_are_kept_apart_and_add_up() -> None:
    history = ExpertHistory(experts_event(0, [[5, 0], [1, 2]], decode=[[0, 3], [4, 0]]))
    assert history.uses(Phase.PREFILL, HeatWindow.SESSION).tolist() == [[5, 0], [1, 2]]
    assert history.uses(Phase.DECODE, HeatWindow.SESSION).tolist() == [[0, 3], [4, 0]]
    assert history.uses(Phase.BOTH, HeatWindow.SESSION).tolist() == [[5, 3], [5, 2]]


def test_the_last_pass_counts_from_the_sample_before_it() -> None:
    history = ExpertHistory(experts_event(0, [[7, 1]], last_pass=[[2, 1]]))
    history.add(experts_event(1, [[8, 1]], last_pass=[[3, 1]]))
    history.add(experts_event(2, [[8, 4]], last_pass=[[3, 3]]))  # still pass 3
    assert history.uses(Phase.PREFILL, HeatWindow.LAST_PASS).tolist() == [[1, 3]]
    assert (history.base_pass_number, history.pass_number) == (2, 3)


def test_the_first_sample_counts_since_the_load() -> None:
    history = ExpertHistory(experts_event(0, [[7, 1]], last_pass=[[1, 1]]))
    assert history.uses(Phase.BOTH, HeatWindow.LAST_PASS).tolist() == [[7, 1]]
    assert history.base_pass_number == 0


def test_decaying_uses_halve_in_one_half_life() -> None:
    history = ExpertHistory(experts_event(0, [[8, 0]]))
    history.add(experts_event(HALF_LIFE_SECONDS, [[8, 6]]))
    history.add(experts_event(2 * HALF_LIFE_SECONDS, [[9, 6]]))
    # 8 -> 4 -> 2 + 1 new; 6 -> 3
    assert history.uses(Phase.PREFILL, HeatWindow.DECAYING)[0] == pytest.approx([3.0, 3.0])


def test_a_copy_is_a_snapshot() -> None:
    history = ExpertHistory(experts_event(0, [[8, 0]]))
    snapshot = history.snapshot()
    history.add(experts_event(1, [[9, 9]]))
    assert snapshot.uses(Phase.BOTH, HeatWindow.DECAYING).tolist() == [[8, 0]]
    assert snapshot.uses(Phase.BOTH, HeatWindow.SESSION).tolist() == [[8, 0]]


@pytest.mark.parametrize(("prefill", "layers"), [([[4, 9]], (3,)), ([[5, 5, 5]], (3,)), ([[9, 9]], (4,))])
def test_another_model_does_not_follow(prefill: list[list[int]], layers: tuple[int, ...]) -> None:
    history = ExpertHistory(experts_event(0, [[5, 5]]))
    assert not history.follows(experts_event(1, prefill, moe_layers=layers))
    assert history.follows(experts_event(1, [[5, 6]]))


def test_the_last_token_counts_decoding_alone() -> None:
    history = ExpertHistory(experts_event(0, [[7, 1, 0]], decode=[[2, 0, 0]]))
    assert history.uses(Phase.BOTH, HeatWindow.LAST_TOKEN).tolist() == [[2, 0, 0]]
    history.add(experts_event(1, [[7, 1, 0]], decode=[[3, 1, 0]]))
    history.add(experts_event(2, [[9, 1, 0]], decode=[[3, 1, 0]]))  # prefill of the next answer
    assert history.uses(Phase.BOTH, HeatWindow.LAST_TOKEN).tolist() == [[1, 1, 0]]
    assert history.uses(Phase.PREFILL, HeatWindow.LAST_TOKEN).tolist() == [[0, 0, 0]]
    assert history.last_tokens(2) == 1
    history.add(experts_event(3, [[9, 1, 0]], decode=[[5, 2, 3]]))
    assert history.uses(Phase.DECODE, HeatWindow.LAST_TOKEN).tolist() == [[2, 1, 3]]
    assert history.last_tokens(2) == 3
