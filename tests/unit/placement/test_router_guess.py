"""Guesses of the next layer's picks, against routers small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.placement.router_guess import Router, RouterGuess

UNIT = np.eye(4, dtype=np.float32)  # expert e scores element e of the state
ALL_ABSENT = np.ones(4, np.bool_)


def row(*values: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array([values], np.float32)


def plain(norm: tuple[float, ...] | None = None) -> Router:
    return Router(UNIT, None if norm is None else np.array(norm, np.float32), ())


def ranking(router: Router, state: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> list[int]:
    """All experts, best first: what each further place adds."""
    sets = [set(router.picks(state, count)[0].tolist()) for count in range(5)[1:]]
    return [(more - fewer).pop() for fewer, more in zip([set(), *sets], sets, strict=False)]


def test_a_router_picks_the_largest_scores() -> None:
    assert ranking(plain(), row(0.1, 3, -5, 2)) == [1, 3, 0, 2]


@pytest.mark.parametrize("operation", [b"SOFT_MAX", b"SIGMOID", b"SOFTPLUS"])
def test_a_growing_function_alone_changes_no_order(operation: bytes) -> None:
    assert ranking(Router(UNIT, None, ((operation, None),)), row(0.1, 3, -5, 2)) == [1, 3, 0, 2]


def test_a_bias_counts_where_it_is_added() -> None:
    # sigmoid(4, 3, 0, -4) = 0.982, 0.953, 0.5, 0.018; with 0.1 and 0.6 more the second and third are
    # 1.053 and 1.1; added to the scores themselves the same bias changes no order
    bias = np.array([0, 0.1, 0.6, 0], np.float32)
    state = row(4, 3, 0, -4)
    assert ranking(Router(UNIT, None, ((b"SIGMOID", None), (b"ADD", bias))), state) == [2, 1, 0, 3]
    assert ranking(Router(UNIT, None, ((b"ADD", bias), (b"SIGMOID", None))), state) == [0, 1, 2, 3]


def test_softmax_shares_are_what_a_bias_is_added_to() -> None:
    # softmax(ln 6, ln 3, ln 1) = 0.6, 0.3, 0.1
    steps = ((b"SOFT_MAX", None), (b"ADD", np.array([0, 0, 0.35, 0], np.float32)))
    assert ranking(Router(UNIT, None, steps), row(np.log(6), np.log(3), 0, -99)) == [0, 2, 1, 3]


def test_roots_of_softplus_are_what_a_bias_is_added_to() -> None:
    # sqrt(ln(1 + e^x)) of 8, 3 and 0: 2.83, 1.75, 0.83
    steps = ((b"SOFTPLUS", None), (b"SQRT", None), (b"ADD", np.array([0, 0, 1.5, 0], np.float32)))
    assert ranking(Router(UNIT, None, steps), row(8, 3, 0, -99)) == [0, 2, 1, 3]


def guess_of(
    routers: dict[int, Router],
    state: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    is_absent: np.ndarray[tuple[int], np.dtype[np.bool_]] = ALL_ABSENT,
    ranks: int | None = None,
    is_prefill: bool = True,
) -> RouterGuess:
    guess = RouterGuess(routers, n_layer=3, top_k=2)
    guess.begin_pass(is_prefill, ranks)
    guess.guess_next(0, state, is_absent)
    return guess


def test_the_next_router_sees_this_state_through_its_own_norm() -> None:
    # the normalised state is (1, 1, 2, 3); its own weights would make it (8, 1, 2, 0)
    routers = {0: plain((1, 2, 1, 2)), 1: plain((8, 1, 1, 0))}
    guess = guess_of(routers, row(1, 2, 2, 6))
    # half trust in experts 0 and 2, which the token certainly picks if the guess is right
    assert guess.chance(1, np.zeros(4)).tolist() == [0.5, 0, 0.5, 0]


def test_elements_that_the_norm_takes_away_are_left_out() -> None:
    routers = {0: plain((0, 1, 1, 1)), 1: plain((9, 1, 1, 1))}
    assert guess_of(routers, row(0, 3, 2, 1)).chance(1, np.zeros(4)).tolist() == [0, 0.5, 0.5, 0]


def test_only_neighbours_that_are_both_known_give_a_guess() -> None:
    guess = RouterGuess({0: plain(), 1: plain(), 3: plain()}, n_layer=4, top_k=2)
    guess.begin_pass(True, None)
    assert [guess.router_before_guess(layer) is not None for layer in range(3)] == [True, False, False]


def test_what_does_not_come_true_in_answers_is_asked_one_time_in_four() -> None:
    guess = RouterGuess({0: plain(), 1: plain()}, n_layer=3, top_k=2)

    def asked() -> list[int]:
        passes = []
        for index in range(8):
            guess.begin_pass(False, None)
            if guess.router_before_guess(0) is not None:
                passes.append(index)
                guess.guess_next(0, row(0, 3, 2, 1), ALL_ABSENT)
                guess.compare(1, np.array([[1, 2]], np.int32))  # as guessed
        return passes

    assert asked() == [3, 4, 5, 6, 7]  # 0.35, after two right guesses 0.41
    guess.guess_next(0, row(0, 3, 2, 1), ALL_ABSENT)
    guess.compare(1, np.array([[0, 3]], np.int32))
    assert guess.trust(1) == pytest.approx((1 - 0.65 * 0.95**10) * 0.95**2)


def test_what_is_not_guessed_keeps_what_was_likely() -> None:
    guess = guess_of({0: plain(), 1: plain()}, row(0, 3, 2, 1))
    likely = np.array([0.2, 0.4, 0, 0.6])
    assert guess.chance(1, likely) == pytest.approx([0.1, 0.5 + 0.2, 0.5, 0.3])
    assert guess.chance(2, likely) is likely  # of that layer nothing was guessed
    guess.begin_pass(True, None)
    assert guess.chance(1, likely) is likely


def test_trust_follows_the_guesses_of_absent_experts() -> None:
    guess = guess_of({0: plain(), 1: plain()}, row(0, 3, 2, 1), np.array([True, True, False, True]))
    guess.compare(1, np.array([[3, 1]], np.int32))  # expert 1 came true; 2 did not, but costs nothing
    assert guess.trust(1) == pytest.approx(0.5 + 0.5 * 0.05)
    guess.guess_next(0, row(0, 3, 2, 1), ALL_ABSENT)
    guess.compare(1, np.array([[0, 3]], np.int32))  # both in vain
    assert guess.trust(1) == pytest.approx(0.525 * 0.95**2)
    assert guess.trust(2) == 0.5
    guess.compare(1, np.array([[1, 2]], np.int32))  # nothing new was guessed
    assert guess.trust(1) == pytest.approx(0.525 * 0.95**2)


def test_prompts_and_answers_are_trusted_apart() -> None:
    guess = guess_of({0: plain(), 1: plain()}, row(0, 3, 2, 1))
    guess.compare(1, np.array([[0, 3]], np.int32))
    assert guess.trust(1) == pytest.approx(0.5 * 0.95**2)
    guess.begin_pass(False, None)
    assert guess.trust(1) == 0.35


def test_with_resident_routing_only_the_first_rank_can_miss() -> None:
    guess = guess_of({0: plain(), 1: plain()}, row(0, 3, 2, 1), ranks=1)
    assert guess.chance(1, np.zeros(4)).tolist() == [0, 0.5, 0, 0]
    guess.compare(1, np.array([[2, 1]], np.int32))
    assert guess.trust(1) == pytest.approx(0.475)


def test_of_a_long_unit_evenly_spaced_tokens_are_asked() -> None:
    # 128 tokens: of every second one the guess is experts 0 and 1, of the others 2 and 3
    state = np.tile(np.array([[9, 8, 0, 0], [0, 0, 9, 8]], np.float32), (64, 1))
    guess = guess_of({0: plain(), 1: plain()}, state)
    assert guess.chance(1, np.zeros(4)).tolist() == [0.5, 0.5, 0, 0]
    picked = np.tile(np.array([[0, 1], [2, 3]], np.int32), (64, 1))
    guess.compare(1, picked)
    assert guess.trust(1) == pytest.approx(1, abs=1e-3)  # 128 guesses, all right


def test_a_state_of_nonsense_gives_no_fault() -> None:
    guess = guess_of({0: plain((1, 1, 1, 1)), 1: plain((1, 1, 1, 1))}, row(np.inf, -np.inf, np.nan, 3e38))
    guess.compare(1, np.array([[0, 1]], np.int32))
    assert 0 <= guess.trust(1) <= 1
