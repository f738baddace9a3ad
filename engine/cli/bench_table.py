"""The bench document as a table for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.cli.table import markdown_table
from engine.config import format_size

_HEADER = (
    "state", "unit", "load s", "prefill tok/s", "decode tok/s", "disk", "disk wait ms", "read",
    "read amp", "of drive rate", "of limit", "peak RSS",
)  # fmt: skip
_RATIO_WORDS = {
    "load": "load",
    "prefill_cold": "prefill, cold",
    "prefill_steady": "prefill, rotating",
    "decode": "decode, rotating",
}


def bench_text(document: dict[str, Any]) -> str:
    """Tables, ratios and the conditions they hold under."""
    text = f"ours\n\n{_rows_table(document['rows'])}"
    if document["stock"]:
        text += f"\nstock llama.cpp (mapped, no repacking)\n\n{_rows_table(document['stock'])}"
    if document["ratios"]:
        ratios = [(_RATIO_WORDS[name], f"{value:.2f}") for name, value in document["ratios"].items()]
        text += f"\n{markdown_table(('ours over stock', 'ratio'), ratios)}"
    return f"{text}\n{_conditions(document)}"


def _rows_table(rows: list[dict[str, Any]]) -> str:
    return markdown_table(_HEADER, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    unit = str(row["unit"])
    return [
        row["state"],
        f"auto: {unit}" if row["requested_unit"] == "auto" else unit,
        _cell(row["load_seconds"], "{:.2f}".format),
        _cell(row["prefill_tokens_per_second"], "{:.2f}".format),
        _cell(row["decode_tokens_per_second"], "{:.2f}".format),
        _cell(row["disk_share"], "{:.2%}".format),
        _cell(row["disk_wait_ns"], lambda ns: f"{ns / 1e6:,.0f}"),
        _cell(row["bytes_read"], format_size),
        _cell(row["read_amplification"], "{:.2f}".format),
        _cell(row["read_rate_share"], "{:.0%}".format),
        _cell(row["limit_ratio"], "{:.2f}".format),
        _cell(row["peak_rss_bytes"], format_size),
    ]


def _cell(value: float | None, words: Callable[[float], str]) -> str:
    return "-" if value is None else words(value)


def _conditions(document: dict[str, Any]) -> str:
    lines = [
        f"drive: {document['drive_bytes_per_second'] / 1e9:.2f} GB/s for random expert slices",
        _cap_words(document),
        f"prompt {document['prompt_tokens']} tokens, threads {document['threads']}; medians of "
        f"{document['repeat']} runs; cold: {document['cold_note']}",
    ]
    if document["stock"]:
        lines.append(
            f"stock decoded {document['stock'][0]['decode_tokens']} tokens, ours "
            f"{document['rows'][0]['decode_tokens']}; the decode ratio compares the same first steps"
        )
        same = {True: "bit-identical to stock", False: "DIFFERENT from stock", None: "not compared"}
        lines.append(f"logits: {same[document['identical_logits']]}")
    return "\n".join([*lines, *document["notes"]]) + "\n"


def _cap_words(document: dict[str, Any]) -> str:
    budget = document["budget_bytes"]
    words = f"budget {format_size(budget)}" if budget else "budget chosen by the engine"
    if document["cap_bytes"] is None:
        return f"{words}, no cap"
    cap = format_size(document["cap_bytes"])
    if document["cap_refusal"]:
        return f"{words}, cap of {cap} not enforced: {document['cap_refusal']}"
    return f"{words}, cap {cap} for the whole process"
