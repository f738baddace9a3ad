"""Plain tables: aligned with spaces, and valid Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Names and values in two aligned columns."""
    width = max((len(name) for name, _ in facts), default=0)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in facts)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is aligned left, figures to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    lines = [_line(row, widths) for row in cells]
    rule = ["-" * width if column == 0 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    return "\n".join([lines[0], _line(rule, widths), *lines[1:]]) + "\n"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return f"| {' | '.join(padded)} |"
