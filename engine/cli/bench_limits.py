"""How near a prompt comes to what the machine can do at all; pure arithmetic.

The limit of a prompt is the longer of two times, since reading and computing can overlap, but neither can be
left out: the bytes that really have to be read (the distinct experts it uses that are not in memory when it
comes, and rows) at the rate of direct reads of expert slices from this drive, and computing the same prompt
with every expert in memory (weights laid out alike). Both are measured in the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from engine.cli.bench_records import STATES, BenchRun
from engine.events import ExpertsSampled
from engine.placement.tier import Tier

_MEASURED_STATE = "warm-identical"  # of the resident side: nothing is left to read


@dataclass(frozen=True, slots=True)
class PrefillLimit:
    """One prompt in one state: medians over the repetitions."""

    elapsed_ns: float
    needed_bytes: float
    drive_ns: float
    resident_compute_ns: float

    @property
    def ratio(self) -> float:
        """Measured time over the limit; 1 is perfect."""
        return self.elapsed_ns / max(self.drive_ns, self.resident_compute_ns)


def prefill_limit(run: BenchRun, state: str, drive_bytes_per_second: float) -> PrefillLimit | None:
    """None where computing with everything in memory was not measured."""
    passes = [report.of(state) for report in run.ours]
    needed = [measured.needed_bytes for measured in passes if measured.needed_bytes is not None]
    compute_ns = resident_compute_ns(run)
    if not needed or compute_ns is None or drive_bytes_per_second <= 0:
        return None
    needed_bytes = median(needed)
    return PrefillLimit(
        elapsed_ns=median(measured.prefill_ns for measured in passes),
        needed_bytes=needed_bytes,
        drive_ns=needed_bytes * 1e9 / drive_bytes_per_second,
        resident_compute_ns=compute_ns,
    )


def resident_compute_ns(run: BenchRun) -> float | None:
    """The prompt with every expert in memory; None where it wasn't measured or still had to read."""
    passes = [report.of(_MEASURED_STATE) for report in run.resident]
    if not passes or any(measured.prefill_costs.experts_from_disk for measured in passes):
        return None
    return median(measured.prefill_ns for measured in passes)


def limit_rows(run: BenchRun, drive_bytes_per_second: float) -> list[dict[str, object]]:
    """Cold and steady (rotating) prefill of one run as JSON values."""
    rows: list[dict[str, object]] = []
    for state in (STATES[0], STATES[2]):
        limit = prefill_limit(run, state, drive_bytes_per_second)
        if limit is not None:
            rows.append(
                {
                    "prompt_tokens": run.case.prompt_tokens,
                    "state": state,
                    "unit": run.ours[0].unit_tokens,
                    "requested_unit": run.case.unit_words,
                    "repack": run.case.repack,
                    "prefill_seconds": limit.elapsed_ns / 1e9,
                    "needed_bytes": limit.needed_bytes,
                    "drive_seconds": limit.drive_ns / 1e9,
                    "resident_compute_seconds": limit.resident_compute_ns / 1e9,
                    "limit_ratio": limit.ratio,
                }
            )
    return rows


def missing_bytes(before: ExpertsSampled, after: ExpertsSampled, expert_bytes: Mapping[int, int]) -> int:
    """Bytes of the distinct experts used between two samples that were on disk only at the first.

    `expert_bytes`: of one expert, by layer.
    """
    uses_before = before.prefill_uses + before.decode_uses
    was_used = after.prefill_uses + after.decode_uses > uses_before
    missing = np.count_nonzero(was_used & (before.tiers == Tier.DISK), axis=1)
    return sum(
        int(count) * expert_bytes[layer] for layer, count in zip(before.moe_layers, missing, strict=True)
    )
