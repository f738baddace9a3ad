"""`bench FILE`: load, prefill and decode, cold, warm and rotating; also against stock llama.cpp."""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from engine.cli import bench_report
from engine.cli.arguments import (
    add_file,
    add_loading,
    add_routing,
    natural,
    positive,
    size_bytes,
    unit_tokens,
)
from engine.cli.bench_process import run_child
from engine.cli.bench_records import BenchRun, BenchTask, ChildReport
from engine.cli.bench_table import bench_text
from engine.cli.page_cache import drop_page_cache
from engine.cli.terminal import Terminal
from engine.config import MIB, LoadSettings, usable_cores
from engine.errors import UsageError
from engine.gguf.expert_layout import ExpertLayout, expert_layout
from engine.gguf.facts import ModelFacts, model_facts
from engine.gguf.model_file import ModelFile
from engine.gguf.reader import read_model
from engine.hardware.drive_rate import ReadSpan, measure_drive_rate

# Of a cap, this much is the engine's budget; the rest is page tables, file cache of libraries and the like.
_BUDGET_SHARE_OF_CAP = 0.92
_DRIVE_SAMPLES = 4096
_DENSE_BLOCK_BYTES = MIB
_CONTEXT_STEP = 256  # llama.cpp rounds contexts up to this
_SEED_STEP = 10  # between repetitions; each uses two prompts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench`."""
    add_file(parser)
    add_loading(parser)
    add_routing(parser)
    parser.add_argument("--prompt-tokens", type=positive, default=64, metavar="N", help="(64)")
    parser.add_argument("--decode-tokens", type=natural, default=32, metavar="N", help="(32)")
    parser.add_argument(
        "--unit",
        type=_units,
        default=(None,),
        metavar="N,..",
        help="prefill units to measure, such as 3,16,auto",
    )
    parser.add_argument(
        "--compare", choices=("stock",), help="also run stock llama.cpp, alternating with ours"
    )
    parser.add_argument(
        "--stock-decode-tokens", type=natural, default=8, metavar="N",
        help="tokens stock decodes; it may take seconds for each (8)",
    )  # fmt: skip
    parser.add_argument(
        "--cap", type=size_bytes, metavar="SIZE",
        help="memory limit of each measured process; without --ram, 92 %% of it is the budget",
    )  # fmt: skip
    parser.add_argument("--repeat", type=positive, default=1, metavar="N", help="medians of so many runs (1)")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="chooses the prompts (1)")
    parser.add_argument(
        "--timeout", type=positive, default=1800, metavar="SECONDS", help="for one measured process (1800)"
    )


def _units(text: str) -> tuple[int | None, ...]:
    units = tuple(unit_tokens(word) for word in text.split(","))
    if len(set(units)) != len(units):
        raise argparse.ArgumentTypeError("names a unit twice")
    return units


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Measure and print one document or table."""
    if arguments.cap and arguments.ram and arguments.ram > arguments.cap:
        raise UsageError("The budget (--ram) is above the cap (--cap).", "Lower --ram or raise --cap.")
    bench = Bench.prepare(arguments, terminal.note)
    document = bench.measure()
    if terminal.is_json:
        terminal.document(document)
    else:
        terminal.write(bench_text(document))
    return 0


@dataclass(slots=True)
class Bench:
    """One bench: children one after the other, so that they never share the machine."""

    arguments: argparse.Namespace
    model: ModelFile
    layout: ExpertLayout
    facts: ModelFacts
    note: Callable[[str], None]
    cold_note: str = ""
    cap_refusal: str = ""
    drive_rates: list[float] = field(default_factory=list)

    @classmethod
    def prepare(cls, arguments: argparse.Namespace, note: Callable[[str], None]) -> Bench:
        """Read the file's header; raises for files that can't be run."""
        model = read_model(arguments.file)
        layout = expert_layout(model)
        return cls(arguments, model, layout, model_facts(model, layout), note)

    def measure(self) -> dict[str, object]:
        """All repetitions, ours and stock in turn, then the figures."""
        runs = [BenchRun(unit) for unit in self.arguments.unit]
        for repetition in range(self.arguments.repeat):
            self._measure_drive()
            for run in runs:
                self._measure_pair(run, repetition)
        self._measure_drive()
        return self._document(runs)

    def _measure_drive(self) -> None:
        spans = list(expert_spans(self.model, self.layout, _DRIVE_SAMPLES, seed=len(self.drive_rates)))
        rate = measure_drive_rate(spans, LoadSettings(self.model.path).reader_threads)
        self.drive_rates.append(rate.bytes_per_second)
        self.note(f"drive: {rate.bytes_per_second / 1e9:.2f} GB/s")

    def _measure_pair(self, run: BenchRun, repetition: int) -> None:
        ours = self._measure_side(self._task("ours", run.requested_unit, repetition), repetition)
        run.ours.append(ours)
        if self.arguments.compare:
            run.stock.append(
                self._measure_side(self._task("stock", ours.unit_tokens, repetition), repetition)
            )

    def _measure_side(self, task: BenchTask, repetition: int) -> ChildReport:
        words = f"unit {task.unit_tokens or 'auto'}, {task.side}"
        self.note(f"run {repetition + 1} of {self.arguments.repeat}: {words}")
        self.cold_note = drop_page_cache([shard.path for shard in self.model.shards])
        report, self.cap_refusal = run_child(task, self.arguments.cap, self.arguments.timeout)
        return report

    def _task(self, side: str, unit: int | None, repetition: int) -> BenchTask:
        arguments = self.arguments
        n_decode = arguments.decode_tokens
        tokens = arguments.prompt_tokens + n_decode
        return BenchTask(
            side=side,
            path=str(self.model.path),
            prompt_tokens=arguments.prompt_tokens,
            decode_tokens=n_decode if side == "ours" else min(n_decode, arguments.stock_decode_tokens),
            context_tokens=-(-tokens // _CONTEXT_STEP) * _CONTEXT_STEP,
            threads=arguments.threads or usable_cores(),
            n_vocab=self.facts.n_vocab,
            seed=arguments.seed + _SEED_STEP * repetition,
            budget_bytes=self._budget_bytes(),
            unit_tokens=unit,
            is_prefetch_on=not arguments.no_prefetch,
            routing=arguments.routing,
            pool_per_layer=arguments.slots,
            is_pool_fixed=arguments.pool == "fixed",
        )

    def _budget_bytes(self) -> int | None:
        ram: int | None = self.arguments.ram
        cap: int | None = self.arguments.cap
        return ram or (int(cap * _BUDGET_SHARE_OF_CAP) if cap else None)

    def _document(self, runs: list[BenchRun]) -> dict[str, object]:
        arguments, drive = self.arguments, statistics.median(self.drive_rates)
        our_rows = [row for r in runs for row in bench_report.rows(r.ours, r.requested_unit, drive)]
        headline = bench_report.headline_run(runs)
        return {
            "model": self._model_document(),
            "cap_bytes": arguments.cap,
            "cap_refusal": self.cap_refusal,
            "budget_bytes": headline.ours[0].budget_bytes,
            "prompt_tokens": arguments.prompt_tokens,
            "threads": arguments.threads or usable_cores(),
            "repeat": arguments.repeat,
            "cold_note": self.cold_note,
            "rows": our_rows,
            "stock": [row for r in runs for row in bench_report.rows(r.stock, r.requested_unit, drive)],
            "ratios": bench_report.ratios(headline),
            "ratios_by_unit": {str(r.requested_unit or "auto"): bench_report.ratios(r) for r in runs},
            "drive_bytes_per_second": drive,
            "limit_ratio": bench_report.overall_limit_ratio(our_rows, headline),
            "identical_logits": bench_report.identical_logits(runs),
            "notes": list(headline.ours[0].notes),
        }

    def _model_document(self) -> dict[str, object]:
        facts = self.facts
        return {
            "path": str(self.model.path),
            "name": facts.name,
            "architecture": facts.architecture,
            "file_bytes": facts.file_bytes,
            "n_layer": facts.n_layer,
            "n_expert": facts.n_expert,
            "top_k": facts.top_k,
            "expert_bytes": facts.expert_bytes,
        }


def expert_spans(model: ModelFile, layout: ExpertLayout, count: int, seed: int = 0) -> Iterator[ReadSpan]:
    """Random expert slices of all layers; blocks of 1 MiB anywhere in a dense model's file."""
    chance = random.Random(seed)
    weights = [tensor for layer in layout.layers for tensor in layer.weights]
    for _ in range(count):
        if weights:
            expert = chance.choice(weights)
            offset = expert.tensor.offset_bytes + chance.randrange(expert.n_expert) * expert.slice_bytes
            yield ReadSpan(model.shards[expert.tensor.shard].path, offset, expert.slice_bytes)
        else:
            shard = chance.choice(model.shards)
            size = min(_DENSE_BLOCK_BYTES, shard.size_bytes)
            yield ReadSpan(shard.path, chance.randrange(shard.size_bytes - size + 1), size)
