"""Reports of measured child processes with round figures."""

from __future__ import annotations

from dataclasses import replace

from engine.cli.bench_records import STATES, ChildReport, PassCosts, StatePass

SECOND_NS = 1_000_000_000
OUR_COSTS = PassCosts(
    bytes_read=600_000_000, disk_wait_ns=SECOND_NS, disk_busy_ns=SECOND_NS // 2, transfer_wait_ns=0,
    callback_ns=SECOND_NS // 4, expert_requests=400, experts_from_disk=50, expert_bytes_read=550_000_000,
    row_bytes_read=0, picks=800,
)  # fmt: skip
OUR_PREFILL_COSTS = replace(
    OUR_COSTS, bytes_read=400_000_000, disk_wait_ns=SECOND_NS // 2, callback_ns=SECOND_NS // 8,
    expert_requests=300, experts_from_disk=30, picks=600,
)  # fmt: skip
STOCK_COSTS = PassCosts(bytes_read=4_000_000_000)
STOCK_PREFILL_COSTS = PassCosts(bytes_read=3_000_000_000)


def state_pass(
    state: str,
    prefill_ns: int = 2 * SECOND_NS,
    step_ns: tuple[int, ...] = (SECOND_NS // 2, SECOND_NS // 2),
    logits: tuple[str, ...] = ("a", "b", "c"),
    costs: PassCosts = OUR_COSTS,
    peak_rss_bytes: int = 1 << 30,
) -> StatePass:
    """64 prompt tokens in 2 s, two steps of half a second; 300 MB had to be read."""
    is_ours = costs is not STOCK_COSTS
    prefill_costs = OUR_PREFILL_COSTS if is_ours else STOCK_PREFILL_COSTS
    needed_bytes = 300_000_000 if is_ours else None
    return StatePass(
        state, 64, prefill_ns, step_ns, logits, costs, prefill_costs, needed_bytes, peak_rss_bytes
    )


def report(
    side: str = "ours", load_ns: int = SECOND_NS, is_repacked: bool = False, **changes: StatePass
) -> ChildReport:
    """All three states; `changes` replaces passes, by state with underscores."""
    costs = OUR_COSTS if side == "ours" else STOCK_COSTS
    passes = tuple(changes.get(s.replace("-", "_"), state_pass(s, costs=costs)) for s in STATES)
    return ChildReport(
        side=side, unit_tokens=16, load_ns=load_ns, load_bytes_read=0, expert_bytes=10_000_000,
        budget_bytes=2 << 30 if side == "ours" else None, is_repacked=is_repacked, passes=passes,
    )  # fmt: skip


def resident_report(prefill_ns: int = SECOND_NS) -> ChildReport:
    """Everything in memory: the second time, the prompt takes `prefill_ns` and reads nothing."""
    warm = replace(
        state_pass("warm-identical", prefill_ns, ()),
        prefill_costs=replace(OUR_PREFILL_COSTS, experts_from_disk=0),
    )
    return report(warm_identical=warm)
