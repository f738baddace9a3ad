"""Progress that rewrites itself, and text that can't steer the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from engine.cli.chat_views import load_words, loaded_words, prefill_words
from engine.cli.table import facts_table, markdown_table
from engine.cli.terminal import Terminal
from engine.events import LoadPhase, LoadProgress, ModelLoaded, PrefillProgress
from tests.support.command_line import TtyStream
from tests.support.telemetry_events import model_info


def test_progress_is_one_line_that_is_wiped_before_output() -> None:
    stderr = TtyStream()
    terminal = Terminal(TtyStream(), TtyStream(), stderr)
    terminal.progress("long words")
    terminal.progress("short")
    terminal.write("answer")
    assert stderr.getvalue() == "\rlong words\rshort     \r     \r"


def test_no_progress_into_a_pipe() -> None:
    stderr = io.StringIO()
    Terminal(io.StringIO(), io.StringIO(), stderr).progress("words")
    assert stderr.getvalue() == ""


def test_control_characters_reach_pipes_but_no_terminal() -> None:
    text = "a\x1b]0;title\x07b\tc\r\n\x9bd"
    tty, pipe = TtyStream(), io.StringIO(newline="")
    Terminal(io.StringIO(), tty, io.StringIO()).write(text)
    Terminal(io.StringIO(), pipe, io.StringIO()).write(text)
    assert tty.getvalue() == "a]0;titleb\tc\nd"
    assert pipe.getvalue() == text


def test_words_of_a_load_in_progress() -> None:
    event = LoadProgress(
        phase=LoadPhase.DENSE_READ, done_bytes=1 << 30, total_bytes=3 << 30, bytes_per_second=float(1 << 29)
    )
    assert load_words(event) == "Reading dense weights: 1 GiB of 3 GiB, 512 MiB/s, 4 s left"
    event = LoadProgress(phase=LoadPhase.SLOTS, done_bytes=0, total_bytes=1, bytes_per_second=0.0)
    assert load_words(event) == "Preparing expert slots…"


def test_words_of_a_prompt_in_progress() -> None:
    event = PrefillProgress(
        done_tokens=32,
        total_tokens=64,
        cached_tokens=0,
        elapsed_ns=2_000_000_000,
        layers_done=5,
        layers_total=24,
    )
    assert prefill_words(event) == "Reading the prompt: 32 of 64 tokens, layer 5 of 24, 2 s"


def test_tables_are_aligned() -> None:
    assert facts_table([("a", "1"), ("long", "2")]) == "a     1\nlong  2\n"
    assert markdown_table(("state", "x"), [("cold", "10"), ("w", "2")]) == (
        "| state |   x |\n| ----- | --: |\n| cold  |  10 |\n| w     |   2 |\n"
    )


def test_words_of_a_finished_load() -> None:
    info = replace(
        model_info(), used_bytes=300 << 20, locked_bytes=8 << 20, drive_bytes_per_second=2.4e9,
        dense_bytes=90 << 20, kv_bytes=6 << 20, compute_bytes=4 << 20, slots_bytes=100 << 20,
        ram_budget_bytes=400 << 20,
    )  # fmt: skip
    event = ModelLoaded(info=info, load_ns=300_000_000, initialise_ns=100_000_000)
    assert loaded_words(event) == (
        "loaded in 0.4 s, planned 200 MiB beside the program, used 300 MiB with it, of 400 MiB, "
        "hot zone 8 MiB, locked, drive 2.40 GB/s"
    )
    plain = replace(event, info=replace(info, used_bytes=None, locked_bytes=0, drive_bytes_per_second=None))
    assert loaded_words(plain) == "loaded in 0.4 s, planned 200 MiB beside the program"
