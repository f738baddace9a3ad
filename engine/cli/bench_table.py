"""The bench document as tables for people: for a terminal, or as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.cli.table import markdown_table
from engine.config import format_size

Document = dict[str, Any]
Row = dict[str, Any]
Column = tuple[str, Callable[[Row], str]]

STATE_WORDS = {"cold": "4a cold", "warm-identical": "4b warm-identical", "rotating": "rotating"}
STOCK_WORDS = {
    "stock": "stock llama.cpp (mapped, no repacking)",
    "stock-repacked": "stock llama.cpp (weights rewritten for its fastest kernels)",
}
_RATIO_WORDS = {
    "load": "load",
    "prefill_cold": "prefill, cold",
    "prefill_steady": "prefill, rotating",
    "decode": "decode, rotating",
}


def bench_text(document: Document) -> str:
    """Tables, ratios and the conditions they hold under."""
    parts = [f"{title}\n\n{table}" for title, table in _sections(document)]
    return "\n".join([*parts, "\n".join(conditions(document)) + "\n"])


def bench_markdown(document: Document) -> str:
    """The same as a Markdown document."""
    parts = [f"# Bench: {document['model']['name']}\n"]
    parts += [f"## {title[0].upper()}{title[1:]}\n\n{table}" for title, table in _sections(document)]
    points = "".join(f"- {line}\n" for line in conditions(document))
    return "\n".join([*parts, f"## Conditions\n\n{points}"])


def case_words(row: Row, rows: Sequence[Row]) -> str:
    """What tells a row from the others beside its state: unit, and prompt and layout where they vary."""
    words = [f"unit {unit_words(row)}"]
    if _varies(rows, "prompt_tokens"):
        words.insert(0, f"prompt {row['prompt_tokens']}")
    if row.get("repack") and _varies(rows, "repack"):
        words.append(f"repack {row['repack']}")
    return ", ".join(words)


def unit_words(row: Row) -> str:
    """ "auto: 64" or "16"."""
    return f"auto: {row['unit']}" if row["requested_unit"] == "auto" else str(row["unit"])


def repack_words(row: Row) -> str:
    """ "auto: off" or "on"."""
    return f"auto: {'on' if row['is_repacked'] else 'off'}" if row["repack"] == "auto" else str(row["repack"])


def _sections(document: Document) -> list[tuple[str, str]]:
    sections = [("ours", _table(document["rows"], _row_columns(document["rows"], is_ours=True)))]
    if document["stock"]:
        stock = document["stock"]
        words = STOCK_WORDS[document["stock_kind"]]
        if document["settings"]["devices"]:
            words += "; all but the experts on the device"
        sections.append((words, _table(stock, _row_columns(stock, False))))
        sections.append(("ours over stock, above 1 is better", _ratio_table(document["ratios_by_run"])))
    if document["limits"]:
        sections.append(("distance to the limit", _table(document["limits"], _LIMIT_COLUMNS)))
    return sections


def _table(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    cells = [[words(row) for _, words in columns] for row in rows]
    return markdown_table([name for name, _ in columns], cells)


def _cell(name: str, words: Callable[[float], str]) -> Callable[[Row], str]:
    return lambda row: "-" if row[name] is None else words(row[name])


def _milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:,.0f}"


def _varies(rows: Sequence[Row], name: str) -> bool:
    return len({row[name] for row in rows}) > 1


def _row_columns(rows: Sequence[Row], is_ours: bool) -> list[Column]:
    """Columns that say nothing in any row are left out."""
    columns: list[Column] = [("state", lambda row: STATE_WORDS[row["state"]])]
    columns += _case_columns(rows)
    columns += [
        ("load s", _cell("load_seconds", "{:.2f}".format)),
        ("prefill tok/s", _cell("prefill_tokens_per_second", "{:.2f}".format)),
        ("decode tok/s", _cell("decode_tokens_per_second", "{:.2f}".format)),
    ]
    if is_ours:
        columns += [
            ("disk", _cell("disk_share", "{:.2%}".format)),
            ("of picks", _cell("disk_share_of_picks", "{:.2%}".format)),
            ("disk wait ms", _cell("disk_wait_ns", _milliseconds)),
        ]
        if any(row["transfer_wait_ns"] for row in rows):
            columns.append(("transfer wait ms", _cell("transfer_wait_ns", _milliseconds)))
    columns.append(("read", _cell("bytes_read", format_size)))
    if is_ours:
        columns += [
            ("read amp", _cell("read_amplification", "{:.2f}".format)),
            ("of drive rate", _cell("read_rate_share", "{:.0%}".format)),
            ("over limit", _cell("limit_ratio", "{:.2f}".format)),
        ]
    columns.append(("peak RSS", _cell("peak_rss_bytes", format_size)))
    return columns


def _case_columns(rows: Sequence[Row]) -> list[Column]:
    columns: list[Column] = []
    if _varies(rows, "prompt_tokens"):
        columns.append(("prompt", lambda row: str(row["prompt_tokens"])))
    columns.append(("unit", unit_words))
    if _varies(rows, "repack"):
        columns.append(("repack", repack_words))
    return columns


_LIMIT_COLUMNS: list[Column] = [
    ("state", lambda row: STATE_WORDS[row["state"]]),
    ("prompt", lambda row: str(row["prompt_tokens"])),
    ("unit", unit_words),
    ("repack", lambda row: str(row["repack"])),
    ("prefill s", _cell("prefill_seconds", "{:.3f}".format)),
    ("needed", _cell("needed_bytes", format_size)),
    ("drive s", _cell("drive_seconds", "{:.3f}".format)),
    ("compute s", _cell("resident_compute_seconds", "{:.3f}".format)),
    ("over limit", _cell("limit_ratio", "{:.2f}".format)),
]


def _ratio_table(runs: Sequence[Row]) -> str:
    header = ["prompt", "unit", "repack", *_RATIO_WORDS.values()]
    rows = [
        [
            str(run["prompt_tokens"]),
            str(run["requested_unit"]),
            run["repack"],
            *(f"{run['ratios'][name]:.2f}" if name in run["ratios"] else "-" for name in _RATIO_WORDS),
        ]
        for run in runs
    ]
    return markdown_table(header, rows)


def conditions(document: Document) -> list[str]:
    """What the figures hold under, one sentence each."""
    prompts = sorted({row["prompt_tokens"] for row in document["rows"]})
    lines = [
        f"drive: {document['drive_bytes_per_second'] / 1e9:.2f} GB/s for random expert slices",
        _cap_words(document),
        f"prompt {', '.join(map(str, prompts))} tokens, threads {document['threads']}; medians of "
        f"{document['repeat']} runs; cold: {document['cold_note']}",
    ]
    if document["limits"]:
        lines.append("limit: the longer of needed bytes at the drive's rate and computing with all in memory")
    elif document["limit_note"]:
        lines.append(f"limit: {document['limit_note']}")
    if document["stock"]:
        lines.append(
            f"stock decoded {document['stock'][0]['decode_tokens']} tokens, ours "
            f"{document['rows'][0]['decode_tokens']}; the decode ratio compares the same first steps"
        )
        same = {True: "bit-identical to stock", False: "DIFFERENT from stock", None: "not compared"}
        lines.append(f"logits: {same[document['identical_logits']]}")
    reasons = {row["repack_reason"] for row in document["rows"] if row["repack"] == "auto"} - {None}
    lines += [f"repack auto: {reason}" for reason in sorted(reasons)]
    return [*lines, *(note for note in document["notes"] if note not in reasons)]


def _cap_words(document: Document) -> str:
    budget = document["budget_bytes"]
    words = f"budget {format_size(budget)}" if budget else "budget chosen by the engine"
    if document["cap_bytes"] is None:
        return f"{words}, no cap"
    cap = format_size(document["cap_bytes"])
    if document["cap_refusal"]:
        return f"{words}, cap of {cap} not enforced: {document['cap_refusal']}"
    return f"{words}, cap {cap} for the whole process"
