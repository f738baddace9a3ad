"""Moves between samples of tiers, counted by hand."""

from __future__ import annotations

from app.expert_history import ExpertHistory
from app.expert_moves import MOVES, Move, moves_between
from engine.events import ExpertsSampled
from tests.support.telemetry_events import experts_event


def tiers_at(t_seconds: float, tiers: list[list[int]]) -> ExpertsSampled:
    return experts_event(t_seconds, [[0] * len(tiers[0])] * len(tiers), tiers=tiers)


def test_each_change_of_place_has_a_name() -> None:
    #        stays, loaded x2, from disk to hot, pool to VRAM, out of hot, evicted x2, window to pool
    before = tiers_at(0, [[0, 2, 0, 0, 0, 2, 4, 3, 1, 1]]).tiers
    now = tiers_at(0, [[0, 2, 1, 2, 3, 4, 2, 0, 0, 2]]).tiers
    assert moves_between(before, now)[0].tolist() == [
        Move.NONE, Move.NONE, Move.LOADED, Move.LOADED, Move.PROMOTED, Move.PROMOTED, Move.DEMOTED,
        Move.EVICTED, Move.EVICTED, Move.NONE,
    ]  # fmt: skip


def test_counts_per_layer_over_two_seconds() -> None:
    history = ExpertHistory(tiers_at(10, [[2, 0, 0], [0, 0, 0]]))
    history.add(tiers_at(11, [[0, 2, 0], [2, 2, 0]]))
    history.add(tiers_at(12.5, [[0, 3, 0], [2, 2, 0]]))
    by_move = dict(zip(MOVES, history.moves.counts().tolist(), strict=True))
    assert by_move == {
        Move.LOADED: [1, 2],
        Move.PROMOTED: [1, 0],
        Move.DEMOTED: [0, 0],
        Move.EVICTED: [1, 0],
    }
    history.add(tiers_at(13, [[0, 3, 0], [2, 2, 0]]))  # what was seen at 11 s is two seconds old
    assert history.moves.counts().sum(axis=1).tolist() == [0, 1, 0, 0]
    history.add(tiers_at(20, [[0, 3, 0], [2, 2, 0]]))
    assert not history.moves.counts().any()


def test_marks_fade_and_keep_the_newest_move() -> None:
    history = ExpertHistory(tiers_at(0, [[2, 0, 0]]))
    history.add(tiers_at(1, [[0, 2, 0]]))
    assert history.moves.freshness(4).tolist() == [[4, 4, 0]]
    history.add(tiers_at(2.4, [[2, 2, 0]]))
    # 1.4 of 2 s have passed for the second: 0.3 of 4 levels are left, rounded up to 2
    assert history.moves.freshness(4).tolist() == [[4, 2, 0]]
    assert history.moves.kinds.tolist() == [[Move.LOADED, Move.LOADED, Move.NONE]]
    history.add(tiers_at(3, [[2, 2, 0]]))
    assert history.moves.freshness(4).tolist() == [[3, 0, 0]]


def test_a_snapshot_keeps_its_moves() -> None:
    history = ExpertHistory(tiers_at(0, [[0, 0]]))
    history.add(tiers_at(1, [[2, 0]]))
    snapshot = history.snapshot()
    history.add(tiers_at(2, [[0, 2]]))
    assert snapshot.moves.kinds.tolist() == [[Move.LOADED, Move.NONE]]
    assert snapshot.moves.counts().tolist()[0] == [1]
