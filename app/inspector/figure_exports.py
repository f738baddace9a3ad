"""Figures as CSV, for tables: one row per sampling interval. No chat text in it."""

from __future__ import annotations

import csv
import io

from app.rate_series import RATES
from app.telemetry_store import TelemetryStore
from app.window_totals import FIELDS

ALL_SECONDS = 1e9


def csv_text(store: TelemetryStore) -> str:
    """One row per sampling interval: what each counter grew by, and the rates as drawn."""
    series = store.rates.series(ALL_SECONDS)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("start_ns", "end_ns", *FIELDS, *RATES))
    for start_ns, end_ns, deltas, drawn in zip(
        series.start_ns.tolist(),
        series.t_ns.tolist(),
        series.deltas.tolist(),
        series.rates.tolist(),
        strict=True,
    ):
        writer.writerow((start_ns, end_ns, *deltas, *(f"{value:.6g}" for value in drawn)))
    return out.getvalue()
