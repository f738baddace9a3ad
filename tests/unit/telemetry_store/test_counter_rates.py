"""Rates worked out by hand from cumulative counters."""

from __future__ import annotations

import math

from app.counter_rates import CounterRates
from app.window_totals import WindowTotals, hit_share, speed_per_second
from engine.events import Counters
from engine.placement.tier import Tier

SECOND = 1_000_000_000


def test_rates_are_growth_over_time() -> None:
    rates = CounterRates()
    rates.add(10 * SECOND, Counters(bytes_read=5_000_000_000))
    rates.add(
        12 * SECOND,
        Counters(
            bytes_read=8_000_000_000,
            prefill_tokens=64,
            prefill_ns=1_600_000_000,
            disk_wait_prefill_ns=400_000_000,
            disk_wait_decode_ns=200_000_000,
        ),
    )
    series = rates.series(60)
    assert series.t_ns.tolist() == [12 * SECOND]
    assert series.rate("bytes_per_second").tolist() == [1.5e9]  # 3 GB in 2 s
    assert series.rate("disk_wait_share").tolist() == [0.3]  # 0.6 s of 2 s
    assert series.rate("prefill_tokens_per_second").tolist() == [40.0]  # 64 tokens in 1.6 s of prefill
    assert series.rate("decode_tokens_per_second").tolist() == [0.0]


def test_lost_samples_only_make_an_interval_longer() -> None:
    every, some = CounterRates(), CounterRates()
    for second in range(11):
        counters = Counters(bytes_read=second * 700, expert_requests=second * 10, expert_misses=second)
        every.add(second * SECOND, counters)
        if second in (0, 7, 10):
            some.add(second * SECOND, counters)
    assert every.window(60) == some.window(60)
    window = some.window(60)
    assert window is not None
    assert window.bytes_per_second == 700.0
    assert window.hit_share == 0.9


def test_no_time_passed_is_left_to_the_next_sample() -> None:
    rates = CounterRates()
    rates.add(SECOND, Counters())
    rates.add(SECOND, Counters(bytes_read=300))
    assert rates.window(5) is None
    rates.add(2 * SECOND, Counters(bytes_read=400))
    window = rates.window(5)
    assert window is not None
    assert (window.bytes_read, window.span_ns) == (400, SECOND)


def test_counters_that_fall_begin_anew_without_a_rate() -> None:
    rates = CounterRates()
    rates.add(1 * SECOND, Counters(bytes_read=1000, evictions=5))
    rates.add(2 * SECOND, Counters(bytes_read=2000, evictions=7))
    rates.add(3 * SECOND, Counters(bytes_read=50, evictions=0))
    rates.add(4 * SECOND, Counters(bytes_read=80, evictions=1))
    assert rates.series(60).rate("bytes_per_second").tolist() == [1000.0, 30.0]


def test_a_window_holds_only_the_last_seconds() -> None:
    rates = CounterRates()
    for second in range(21):
        rates.add(second * SECOND, Counters(evictions=second if second <= 10 else 10 + 4 * (second - 10)))
    window = rates.window(5)
    assert window is not None
    assert window.span_ns == 5 * SECOND
    assert window.evictions_per_second == 4.0


def test_a_long_interval_stays_while_half_of_it_is_recent() -> None:
    rates = CounterRates()
    for second, count in ((0, 0), (4, 40), (6, 41), (7, 42), (8, 43)):
        rates.add(second * SECOND, Counters(evictions=count))
    whole, recent = rates.window(6), rates.window(5)
    assert whole is not None
    assert recent is not None
    assert (whole.span_ns, whole.evictions) == (8 * SECOND, 43)
    assert (recent.span_ns, recent.evictions) == (4 * SECOND, 3)


def test_the_ring_forgets_the_oldest() -> None:
    rates = CounterRates(capacity=4)
    for second in range(10):
        rates.add(second * SECOND, Counters(bytes_read=second * second))
    assert len(rates) == 4
    # differences of squares: 36-25, 49-36, 64-49, 81-64
    assert rates.series(60).rate("bytes_per_second").tolist() == [11.0, 13.0, 15.0, 17.0]


def test_idle_time_dilutes_no_rate() -> None:
    rates = CounterRates()
    rates.add(1 * SECOND, Counters())
    rates.mark_idle_until(100 * SECOND)
    rates.add(101 * SECOND, Counters(bytes_read=500))
    series = rates.series(1000)
    assert series.rate("bytes_per_second").tolist() == [0.0, 500.0]
    assert series.start_ns.tolist() == [1 * SECOND, 100 * SECOND]
    assert series.t_ns.tolist() == [100 * SECOND, 101 * SECOND]


def test_a_window_never_reaches_back_over_idle_time() -> None:
    rates = CounterRates()
    rates.add(1 * SECOND, Counters())
    rates.add(2 * SECOND, Counters(disk_wait_decode_ns=SECOND))
    rates.mark_idle_until(4 * SECOND)
    assert rates.window(5) is None
    rates.add(5 * SECOND, Counters(disk_wait_decode_ns=SECOND + SECOND // 2))
    window = rates.window(5)
    assert window is not None
    assert (window.span_ns, window.disk_wait_share) == (SECOND, 0.5)
    rates.restart()
    assert rates.window(5) is None


def test_a_long_unit_is_drawn_over_the_time_it_took() -> None:
    """Tokens are counted when the unit ends: 16 tokens in 4 s are 4 tok/s all along, not a peak."""
    rates = CounterRates()
    rates.add(0, Counters())
    for second in range(1, 6):
        rates.add(second * SECOND, Counters())
    rates.add(6 * SECOND, Counters(prefill_tokens=16, prefill_ns=4 * SECOND))
    assert rates.series(60).rate("prefill_tokens_per_second").tolist() == [0, 0, 4, 4, 4, 4]


def test_waits_longer_than_the_interval_are_capped() -> None:
    rates = CounterRates()
    rates.add(0, Counters())
    rates.add(SECOND, Counters(disk_wait_decode_ns=3 * SECOND))
    assert rates.series(60).rate("disk_wait_share").tolist() == [1.0]


def test_the_peak_is_of_half_a_second_at_least() -> None:
    rates = CounterRates()
    rates.add(0, Counters())
    rates.add(SECOND * 2 // 5, Counters())
    assert rates.peak_bytes_per_second == 0.0
    rates.add(SECOND // 2, Counters(bytes_read=1_000))  # 10,000 per second for a tenth of one
    assert rates.peak_bytes_per_second == 2_000.0
    rates.add(SECOND * 3 // 2, Counters(bytes_read=4_000))
    assert rates.peak_bytes_per_second == 3_000.0
    rates.add(SECOND * 3 // 2 + 1, Counters(bytes_read=4_500))  # half a second back is a second back here
    assert math.isclose(rates.peak_bytes_per_second, 3_500.0, rel_tol=1e-6)


def test_the_peak_never_reaches_over_a_gap() -> None:
    rates = CounterRates()
    rates.add(0, Counters())
    rates.add(SECOND // 4, Counters(bytes_read=9_000))
    rates.restart()
    rates.add(SECOND // 4 + 1, Counters())
    rates.add(SECOND // 2 + 1, Counters(bytes_read=9_000))
    assert rates.peak_bytes_per_second == 0.0


def test_unknown_is_none_not_zero() -> None:
    assert hit_share(0, 0) is None
    assert speed_per_second(0, SECOND, SECOND) is None
    assert math.isclose(speed_per_second(10, 0, 4 * SECOND) or 0, 2.5)


def test_compute_is_the_time_that_was_no_wait() -> None:
    rates = CounterRates()
    rates.add(0, Counters())
    rates.add(2 * SECOND, Counters(disk_wait_decode_ns=SECOND // 2, transfer_wait_decode_ns=SECOND))
    rates.mark_idle_until(5 * SECOND)
    rates.add(6 * SECOND, Counters(disk_wait_decode_ns=9 * SECOND // 4, transfer_wait_decode_ns=2 * SECOND))
    series = rates.series(60)
    assert series.rate("disk_wait_share").tolist() == [0.25, 0.0, 1.0]  # 1.75 s of one: capped
    assert series.rate("transfer_wait_share").tolist() == [0.5, 0.0, 0.0]
    assert series.rate("compute_share").tolist() == [0.25, 0.0, 0.0]  # nothing computes while idle


def test_copies_to_all_devices_are_one_rate() -> None:
    rates = CounterRates()
    rates.add(0, Counters(bytes_by_link={"CUDA0": 100}))
    rates.add(2 * SECOND, Counters(bytes_by_link={"CUDA0": 500, "CUDA1": 200}))
    assert rates.series(60).rate("link_bytes_per_second").tolist() == [300.0]
    assert rates.peak_link_bytes_per_second == 300.0
    rates.add(3 * SECOND, Counters(bytes_by_link={"CUDA0": 50}))  # another model
    assert rates.peak_link_bytes_per_second == 300.0


def test_bytes_per_token_cover_what_was_read_since_the_last_token() -> None:
    rates = CounterRates()
    rates.add(0, Counters())
    rates.add(1 * SECOND, Counters(bytes_read=600))
    rates.add(2 * SECOND, Counters(bytes_read=800, prefill_tokens=4))
    rates.add(3 * SECOND, Counters(bytes_read=900, prefill_tokens=4, decode_tokens=1))
    rates.add(4 * SECOND, Counters(bytes_read=999, prefill_tokens=4, decode_tokens=1))
    assert rates.series(60).rate("bytes_per_token").tolist() == [200.0, 200.0, 100.0, 0.0]


def test_requests_are_shared_out_by_tier() -> None:
    rates = CounterRates()
    rates.add(0, Counters(requests_by_tier={"disk": 50}))
    rates.add(SECOND, Counters(requests_by_tier={"disk": 60, "host_pool": 25, "hot": 5}))
    window = rates.window(5)
    assert window is not None
    assert [window.tier_share(tier) for tier in Tier] == [0.25, 0.0, 0.625, 0.125, 0.0]
    assert WindowTotals(SECOND, *[0] * 12).tier_share(Tier.DISK) is None
