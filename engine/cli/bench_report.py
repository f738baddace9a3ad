"""From the reports of child processes to rows and ratios; pure arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from engine.cli.bench_limits import prefill_limit
from engine.cli.bench_records import STATES, BenchCase, BenchRun, ChildReport, PassCosts, StatePass

Figure = Callable[[StatePass], float | None]
Row = dict[str, object]


def our_rows(run: BenchRun, drive_bytes_per_second: float) -> list[Row]:
    """One row per state, with the distance to the limit."""
    rows = side_rows(run.ours, run.case, drive_bytes_per_second)
    for row in rows:
        limit = prefill_limit(run, str(row["state"]), drive_bytes_per_second)
        row["limit_ratio"] = None if limit is None else limit.ratio
    return rows


def side_rows(reports: Sequence[ChildReport], case: BenchCase, drive_bytes_per_second: float) -> list[Row]:
    """One row per state: medians over the repetitions, except the peak, which is the highest."""
    return [_row(reports, state, case, drive_bytes_per_second) for state in STATES] if reports else []


def _row(reports: Sequence[ChildReport], state: str, case: BenchCase, drive: float) -> Row:
    passes = [report.of(state) for report in reports]

    def middle(figure: Figure) -> float | None:
        values = [value for value in map(figure, passes) if value is not None]
        return median(values) if values else None

    is_cold, expert_bytes = state == STATES[0], reports[0].expert_bytes
    return {
        "state": state,
        "unit": reports[0].unit_tokens,
        "requested_unit": case.unit_words,
        "repack": case.repack if reports[0].side == "ours" else None,
        "is_repacked": reports[0].is_repacked,
        "repack_reason": reports[0].placement.get("repack_reason") or None,
        "runs": len(reports),
        "load_seconds": median(r.load_ns for r in reports) / 1e9 if is_cold else None,
        "prefill_tokens_per_second": middle(lambda p: p.prefill_tokens_per_second),
        "decode_tokens_per_second": middle(lambda p: p.decode_tokens_per_second()),
        "prompt_tokens": passes[0].prompt_tokens,
        "decode_tokens": len(passes[0].step_ns),
        "disk_share": middle(lambda p: disk_share(p.costs)),
        "disk_share_of_picks": middle(lambda p: disk_share_of_picks(p.costs)),
        "disk_wait_ns": middle(lambda p: p.costs.disk_wait_ns),
        "transfer_wait_ns": middle(lambda p: p.costs.transfer_wait_ns),
        "bytes_read": middle(lambda p: p.costs.bytes_read),
        "needed_bytes": middle(lambda p: p.needed_bytes),
        "peak_rss_bytes": max(p.peak_rss_bytes for p in passes),
        "group_peak_bytes": max((r.group_peak_bytes for r in reports if r.group_peak_bytes), default=None),
        "limit_ratio": None,
        "read_amplification": middle(lambda p: read_amplification(p.costs, expert_bytes)),
        "read_rate_share": middle(lambda p: read_rate_share(p.costs, drive)),
        "prefill": _split(passes, lambda p: p.prefill_ns, lambda p: p.prefill_costs),
        "decode": _split(passes, lambda p: p.decode_ns, lambda p: p.decode_costs),
    }


def _split(
    passes: Sequence[StatePass], elapsed: Callable[[StatePass], int], costs: Callable[[StatePass], PassCosts]
) -> dict[str, float | None]:
    """Where the time of the median repetition went: parts that add up to `elapsed_ns`, and its bytes."""
    middle = sorted(passes, key=elapsed)[(len(passes) - 1) // 2]
    elapsed_ns, spent = elapsed(middle), costs(middle)
    parts = (spent.disk_wait_ns, spent.transfer_wait_ns, spent.callback_ns)
    known = [part for part in parts if part is not None]
    return {
        "elapsed_ns": elapsed_ns,
        "compute_ns": max(0, elapsed_ns - sum(known)) if len(known) == len(parts) else None,
        "disk_wait_ns": spent.disk_wait_ns,
        "transfer_wait_ns": spent.transfer_wait_ns,
        "own_ns": spent.callback_ns,
        "bytes_read": spent.bytes_read,
        "disk_share": disk_share(spent),
        "disk_share_of_picks": disk_share_of_picks(spent),
    }


def disk_share(costs: PassCosts) -> float | None:
    """Share of expert requests whose bytes had to come from the disk."""
    return _share(costs.experts_from_disk, costs.expert_requests)


def disk_share_of_picks(costs: PassCosts) -> float | None:
    """Experts that had to come from the disk, over the router's picks: how often reading was needed for a
    token's expert. With resident routing at most 1/top-k, whatever the unit."""
    return _share(costs.experts_from_disk, costs.picks)


def _share(part: int | None, whole: int | None) -> float | None:
    if not whole or part is None:
        return None if whole is None else 0.0
    return part / whole


def read_amplification(costs: PassCosts, expert_bytes: int) -> float | None:
    """Expert bytes read over the bytes of the experts that had to be read; 1 is ideal."""
    if not costs.experts_from_disk or costs.expert_bytes_read is None or not expert_bytes:
        return None
    return costs.expert_bytes_read / (costs.experts_from_disk * expert_bytes)


def read_rate_share(costs: PassCosts, drive_bytes_per_second: float) -> float | None:
    """Our rate while at least one read was in flight, over the drive's measured rate."""
    if not costs.disk_busy_ns or drive_bytes_per_second <= 0:
        return None
    return costs.bytes_read * 1e9 / costs.disk_busy_ns / drive_bytes_per_second


def ratios(run: BenchRun) -> dict[str, float] | None:
    """Medians, ours over stock, above 1 is better for us; None without stock.

    Steady prefill and decode are those of the rotating state. Decode compares the same steps: the first
    ones, as many as the shorter side took.
    """
    if not run.ours or not run.stock:
        return None
    steps = min(len(r.of("rotating").step_ns) for r in (*run.ours, *run.stock))
    figures: dict[str, Callable[[ChildReport], float]] = {
        "load": lambda r: 1e9 / r.load_ns,
        "prefill_cold": lambda r: r.of("cold").prefill_tokens_per_second,
        "prefill_steady": lambda r: r.of("rotating").prefill_tokens_per_second,
        "decode": lambda r: r.of("rotating").decode_tokens_per_second(steps),
    }
    return {name: _ratio(run, figure) for name, figure in figures.items() if name != "decode" or steps}


def _ratio(run: BenchRun, figure: Callable[[ChildReport], float]) -> float:
    return median(map(figure, run.ours)) / median(map(figure, run.stock))


def identical_logits(runs: Sequence[BenchRun]) -> bool | None:
    """Whether all logits that both sides computed agree bit for bit; None where none were compared.

    Only the same layout of weights gives the same sums: a side with another one is compared with the
    reference, if there is one. What a device computes is not compared with stock on the processor.
    """
    compared = [
        (ours.of(state).logits, theirs.of(state).logits)
        for run in runs
        for reports in (run.stock, run.reference)
        for ours, theirs in zip(run.ours, reports, strict=False)
        if ours.is_repacked == theirs.is_repacked and not ours.placement.get("devices")
        for state in STATES
    ]
    if not compared:
        return None
    return all(a == b for left, right in compared for a, b in zip(left, right, strict=False))


def headline_run(runs: Sequence[BenchRun]) -> BenchRun:
    """The run that stands for the whole: the automatic unit if it was measured, else the first asked for."""
    return next((run for run in runs if run.case.requested_unit is None), runs[0])
