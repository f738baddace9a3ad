"""A picture of a bench: speed, where the time goes and what is read, for prompts and for decoding.

matplotlib is an optional part of the program (extra “plot”) and imported only when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.bench_table import STATE_WORDS, STOCK_WORDS, case_words, conditions
from engine.config import GIB, KIB, MIB
from engine.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
Value = Callable[[Row], float | None]

_DPI = 110
_WIDTH_INCHES, _LINE_INCHES, _BLOCK_INCHES, _MARGIN_INCHES = 15.0, 0.36, 1.1, 0.6
_OURS_HEIGHT, _STOCK_HEIGHT, _STOCK_BELOW = 0.46, 0.2, 0.4
_STATE_COLOURS = {"cold": "#0072b2", "warm-identical": "#d55e00", "rotating": "#009e73"}
_STOCK_COLOUR, _INK, _FAINT = "#9a9a9a", "#222222", "#dddddd"
_PARTS = (
    ("compute_ns", "compute", "#332288"),
    ("disk_wait_ns", "wait for the drive", "#ee6677"),
    ("transfer_wait_ns", "wait for a device", "#ccbb44"),
    ("own_ns", "our own code", "#66ccee"),
)
# Stock may be dozens of times slower; beyond this multiple of ours its bars are cut, and say so.
_MOST_OVER_OURS = 1.6
_ROOM_FOR_VALUES = 1.22
_SIZES = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))


@dataclass(frozen=True, slots=True)
class _Line:
    """A place on the vertical axis: the heading of a case, or one row of ours with stock's beside it."""

    y: float
    label: str
    ours: Row | None = None
    stock: Row | None = None


def check_plot(path: Path) -> None:
    """Raise UsageError now rather than after an hour: matplotlib is missing, or `path` can't be a picture."""
    if path.suffix.lower() != ".png":
        raise UsageError(f"“{path.name}” is no name of a PNG file.", "Let --plot end in .png.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder “{path.parent}”.", "Create it or choose another place.")
    try:
        import matplotlib.figure  # noqa: F401, PLC0415 - an optional part, needed for pictures only
    except ImportError as error:
        raise UsageError(
            "Pictures need matplotlib, which is not installed.",
            "Install the extra “plot”: pip install 'emberglass[plot]', or leave out --plot.",
            str(error),
        ) from error


def save_plot(document: dict[str, Any], path: Path) -> None:
    """Write the picture; call `check_plot` first. Raises UsageError if the file can't be written."""
    figure = bench_figure(document)
    try:
        figure.savefig(path, dpi=_DPI)
    except OSError as error:
        raise UsageError(f"“{path}” can't be written: {error.strerror}.", "Choose another place.") from error


def bench_figure(document: dict[str, Any]) -> Figure:
    """One line of bars per row of the bench; the upper half is about prompts, the lower about decoding."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - as above
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    lines = _lines(document)
    phases = ["prefill"] + ["decode"] * any(row["decode_tokens"] for row in document["rows"])
    block_inches = _BLOCK_INCHES + _LINE_INCHES * len(lines)
    height = _MARGIN_INCHES + block_inches * len(phases) + 0.2 * len(conditions(document))
    figure = Figure((_WIDTH_INCHES, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{document['model']['name']}: {_subject(document)}", fontweight="bold")
    grid = figure.subplots(len(phases), 3, squeeze=False, gridspec_kw={"width_ratios": (4, 5, 3)})
    for axes, phase in zip(grid, phases, strict=True):
        _draw_speed(axes[0], lines, phase)
        _draw_time(axes[1], lines, phase)
        _draw_bytes(axes[2], lines, phase)
    figure.supxlabel("\n".join(conditions(document)), fontsize=8, color=_INK, ha="left", x=0.01)
    return figure


def _subject(document: dict[str, Any]) -> str:
    if not document["stock"]:
        return "Emberglass"
    return f"Emberglass (coloured) and {STOCK_WORDS[document['stock_kind']]} (grey)"


def _lines(document: dict[str, Any]) -> list[_Line]:
    """From top to bottom, grouped by case; a heading only where there are several cases."""
    rows, lines = document["rows"], list[_Line]()
    stock = {(row["state"], *_case_key(row)): row for row in document["stock"]}
    headings = [case_words(row, rows) for row in rows]
    for row, heading, before in zip(rows, headings, [None, *headings], strict=False):
        if heading != before and len(set(headings)) > 1:
            lines.append(_Line(len(lines), heading))
        theirs = stock.get((row["state"], *_case_key(row)))
        lines.append(_Line(len(lines), STATE_WORDS[row["state"]], row, theirs))
    return lines


def _case_key(row: Row) -> tuple[object, object]:
    return row["prompt_tokens"], row["requested_unit"]


# --- one panel each ---------------------------------------------------------------------------


def _draw_speed(axes: Axes, lines: Sequence[_Line], phase: str) -> None:
    def speed(row: Row) -> float | None:
        return row[f"{phase}_tokens_per_second"] or None

    words = "Prompt" if phase == "prefill" else "Decoding"
    _begin(axes, lines, f"{words}, tokens per second (longer is better)")
    right = _right_edge(lines, speed)
    for line in lines:
        if line.ours is not None and (ours := speed(line.ours)) is not None:
            _bar(axes, line.y, ours, _STATE_COLOURS[line.ours["state"]])
            _label(axes, line.y, ours, _short(ours))
        _draw_stock(axes, line, speed, right)
    axes.set_xlim(0, right * _ROOM_FOR_VALUES)


def _draw_time(axes: Axes, lines: Sequence[_Line], phase: str) -> None:
    """Stacked parts of the time; a black mark where the limit of a prompt is."""
    scale, unit = (1e9, "seconds") if phase == "prefill" else (1e6, "milliseconds per token")

    def amount(row: Row, part: str) -> float | None:
        value = row[phase][part]
        return None if value is None else value / scale / _tokens(row, phase)

    def has_limit(row: Row) -> bool:
        return phase == "prefill" and bool(row["limit_ratio"])

    _begin(axes, lines, f"Where the time goes, {unit}", has_labels=False)
    right = _right_edge(lines, lambda row: amount(row, "elapsed_ns"))
    for line in lines:
        if line.ours is not None:
            _draw_parts(axes, line.y, [amount(line.ours, part) or 0.0 for part, _, _ in _PARTS])
            elapsed = amount(line.ours, "elapsed_ns") or 0.0
            limit = elapsed / line.ours["limit_ratio"] if has_limit(line.ours) else 0.0
            words = f"  ({line.ours['limit_ratio']:.2f} × limit)" if limit else ""
            _label(axes, line.y, max(elapsed, limit), f"{_short(elapsed)}{words}")
            _mark(axes, line.y, limit)
        _draw_stock(axes, line, lambda row: amount(row, "elapsed_ns"), right)
    axes.set_xlim(0, right * _ROOM_FOR_VALUES)
    _legend(axes, lines, phase)


def _draw_bytes(axes: Axes, lines: Sequence[_Line], phase: str) -> None:
    """What was read; a black mark at what a prompt really needed."""
    most = max((_read_bytes(line.ours, phase) for line in lines if line.ours is not None), default=0.0)
    size, unit = next(each for each in _SIZES if most >= each[0] or each[0] == 1)
    per = "" if phase == "prefill" else " per token"

    def amount(row: Row) -> float:
        return _read_bytes(row, phase) / size

    _begin(axes, lines, f"Read from the drive, {unit}{per}", has_labels=False)
    right = _right_edge(lines, amount)
    for line in lines:
        if line.ours is not None:
            _bar(axes, line.y, amount(line.ours), _STATE_COLOURS[line.ours["state"]])
            needed = (line.ours["needed_bytes"] or 0) / size if phase == "prefill" else 0.0
            _label(axes, line.y, max(amount(line.ours), needed), _short(amount(line.ours)))
            _mark(axes, line.y, needed)
        _draw_stock(axes, line, amount, right)
    axes.set_xlim(0, right * _ROOM_FOR_VALUES)


def _tokens(row: Row, phase: str) -> int:
    """A prompt is shown as a whole, decoding per token."""
    return 1 if phase == "prefill" else max(1, int(row["decode_tokens"]))


def _read_bytes(row: Row, phase: str) -> float:
    return float(row[phase]["bytes_read"]) / _tokens(row, phase)


# --- pieces -----------------------------------------------------------------------------------


def _begin(axes: Axes, lines: Sequence[_Line], title: str, has_labels: bool = True) -> None:
    axes.set_title(title, fontsize=10, loc="left", color=_INK)
    axes.set_ylim(len(lines) - 0.4, -0.7)
    axes.set_yticks([line.y for line in lines], [line.label if has_labels else "" for line in lines])
    for line, tick in zip(lines, axes.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if line.ours is None else "normal")
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color=_FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _right_edge(lines: Sequence[_Line], value: Value) -> float:
    """End of the axis, without the room for labels."""
    ours = max((value(line.ours) or 0.0 for line in lines if line.ours is not None), default=0.0)
    stock = max((value(line.stock) or 0.0 for line in lines if line.stock is not None), default=0.0)
    return max(ours, min(stock, ours * _MOST_OVER_OURS)) or max(stock, 1.0)


def _bar(axes: Axes, y: float, value: float, colour: str, left: float = 0.0) -> None:
    axes.barh(y, value, height=_OURS_HEIGHT, left=left, color=colour)


def _draw_parts(axes: Axes, y: float, parts: Sequence[float]) -> None:
    left = 0.0
    for value, (_, _, colour) in zip(parts, _PARTS, strict=True):
        _bar(axes, y, value, colour, left)
        left += value


def _draw_stock(axes: Axes, line: _Line, value: Value, right: float) -> None:
    """A thin bar below ours, cut at the edge if it is far longer."""
    amount = None if line.stock is None else value(line.stock)
    if amount is None:
        return
    y = line.y + _STOCK_BELOW
    axes.barh(y, min(amount, right), height=_STOCK_HEIGHT, color=_STOCK_COLOUR)
    cut = " » " if amount > right else " "
    axes.text(min(amount, right), y, cut + _short(amount), va="center", fontsize=6.5, color="#666666")


def _short(value: float) -> str:
    """Three digits, but never an exponent for large figures."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def _label(axes: Axes, y: float, x: float, words: str) -> None:
    axes.text(x, y, f" {words}", va="center", fontsize=8, color=_INK)


def _mark(axes: Axes, y: float, x: float) -> None:
    """A black mark; nothing at 0."""
    if x:
        axes.plot([x, x], [y - 0.3, y + 0.3], color="black", linewidth=1.6, solid_capstyle="butt")


def _legend(axes: Axes, lines: Sequence[_Line], phase: str) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - as above
    from matplotlib.patches import Patch  # noqa: PLC0415 - as above

    rows = [line.ours for line in lines if line.ours is not None]
    handles: list[Patch | Line2D] = [
        Patch(color=colour, label=words)
        for part, words, colour in _PARTS
        if part != "transfer_wait_ns" or any(row[phase][part] for row in rows)
    ]
    if phase == "prefill" and any(row["limit_ratio"] for row in rows):
        handles.append(Line2D([], [], color="black", linewidth=1.6, label="limit; bytes needed"))
    axes.legend(
        handles=handles, loc="upper right", bbox_to_anchor=(1, 0), borderaxespad=2.2,
        fontsize=8, ncols=len(handles), frameon=False,
    )  # fmt: skip
