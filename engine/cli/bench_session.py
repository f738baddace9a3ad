"""One bench: children one after the other, so that they never share the machine."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from engine.cli.arguments import device_names
from engine.cli.bench_process import run_child
from engine.cli.bench_records import STATES, BenchCase, BenchRun, BenchTask, ChildReport
from engine.cli.bench_spans import expert_spans
from engine.cli.page_cache import drop_page_cache
from engine.config import LoadSettings, Repack, usable_cores
from engine.gguf.expert_layout import ExpertLayout, expert_layout
from engine.gguf.facts import ModelFacts, model_facts
from engine.gguf.model_file import ModelFile
from engine.gguf.reader import read_model
from engine.hardware.drive_rate import measure_drive_rate
from engine.hardware.memory import available_bytes

# Of a cap, this much is the engine's budget; the rest is page tables, file cache of libraries and the like.
_BUDGET_SHARE_OF_CAP = 0.92
_DRIVE_SAMPLES = 4096
_CONTEXT_STEP = 256  # llama.cpp rounds contexts up to this
_SEED_STEP = 10  # between repetitions; each uses two prompts
# The whole model is put into memory only where it takes no more than this of what is available.
_MOST_SHARE_OF_AVAILABLE = 0.75


@dataclass(slots=True)
class BenchSession:
    """Measures every case of the arguments; `runs` fill up, the notes say under which conditions."""

    arguments: argparse.Namespace
    model: ModelFile
    layout: ExpertLayout
    facts: ModelFacts
    note: Callable[[str], None]
    runs: list[BenchRun] = field(default_factory=list)
    cold_note: str = ""
    cap_refusal: str = ""
    limit_note: str = ""
    drive_rates: list[float] = field(default_factory=list)
    resident_reports: dict[tuple[int, bool, int], ChildReport] = field(default_factory=dict)

    @classmethod
    def prepare(cls, arguments: argparse.Namespace, note: Callable[[str], None]) -> BenchSession:
        """Read the file's header; raises for files that can't be run."""
        device_names(arguments)
        model = read_model(arguments.file)
        layout = expert_layout(model)
        session = cls(arguments, model, layout, model_facts(model, layout), note)
        session.runs = bench_runs(arguments)
        return session

    @property
    def drive_bytes_per_second(self) -> float:
        """What the drive gave for expert slices; the median over the whole bench."""
        return statistics.median(self.drive_rates)

    def measure(self) -> None:
        """All repetitions; our side, stock and the resident side of each case in turn."""
        for repetition in range(self.arguments.repeat):
            self._measure_drive()
            for run in self.runs:
                self._measure_run(run, repetition)
        self._measure_drive()

    def _measure_drive(self) -> None:
        spans = list(expert_spans(self.model, self.layout, _DRIVE_SAMPLES, seed=len(self.drive_rates)))
        rate = measure_drive_rate(spans, LoadSettings(self.model.path).reader_threads)
        self.drive_rates.append(rate.bytes_per_second)
        self.note(f"drive: {rate.bytes_per_second / 1e9:.2f} GB/s")

    def _measure_run(self, run: BenchRun, repetition: int) -> None:
        """Runs share lists: what another case has measured in this repetition is not measured again."""
        ours = self._child(self._task(run.case, repetition), repetition)
        run.ours.append(ours)
        if self.arguments.compare and len(run.stock) <= repetition:
            run.stock.append(self._child(self._stock_task(run.case, ours, repetition), repetition))
        if run.stock and not run.reference and run.stock[-1].is_repacked != ours.is_repacked:
            self._measure_reference(run, ours, repetition)
        if not self.arguments.no_limit:
            self._measure_resident(run, ours, repetition)

    def _measure_reference(self, run: BenchRun, ours: ChildReport, repetition: int) -> None:
        """Stock with our layout of weights, uncapped: rewriting them takes memory for all of them."""
        if repetition == 0 and self._has_room():
            task = self._stock_task(run.case, ours, repetition)
            task = replace(task, repack=_layout(ours.is_repacked))
            run.reference.append(self._child(task, repetition, is_capped=False))

    def _measure_resident(self, run: BenchRun, ours: ChildReport, repetition: int) -> None:
        """Once per prompt and layout of weights, which must be that of our side: it decides the kernels."""
        key = run.case.prompt_tokens, ours.is_repacked, repetition
        if key not in self.resident_reports:
            if not self._has_room():
                self.limit_note = "not measured: the whole model does not fit into the memory available"
                return
            # the whole prompt as one unit if memory allows: the best this machine can do
            case = BenchCase(run.case.prompt_tokens, None, _layout(ours.is_repacked))
            task = replace(
                self._task(case, repetition), budget_bytes=None, decode_tokens=0, states=STATES[:2]
            )
            words = "everything in memory"
            self.resident_reports[key] = self._child(task, repetition, is_capped=False, words=words)
        run.resident.append(self.resident_reports[key])

    def _has_room(self) -> bool:
        return self.facts.file_bytes < _MOST_SHARE_OF_AVAILABLE * available_bytes()

    def _child(
        self, task: BenchTask, repetition: int, is_capped: bool = True, words: str = ""
    ) -> ChildReport:
        what = f"{task.prompt_tokens} tokens, unit {task.unit_tokens or 'auto'}, {words or task.side}"
        self.note(f"run {repetition + 1} of {self.arguments.repeat}: {what}")
        self.cold_note = drop_page_cache([shard.path for shard in self.model.shards])
        cap_bytes = self.arguments.cap if is_capped else None
        report, refusal = run_child(task, cap_bytes, self.arguments.timeout)
        self.cap_refusal = refusal or self.cap_refusal
        return report

    def _task(self, case: BenchCase, repetition: int) -> BenchTask:
        arguments = self.arguments
        tokens = case.prompt_tokens + arguments.decode_tokens
        return BenchTask(
            side="ours",
            path=str(self.model.path),
            prompt_tokens=case.prompt_tokens,
            decode_tokens=arguments.decode_tokens,
            context_tokens=-(-tokens // _CONTEXT_STEP) * _CONTEXT_STEP,
            threads=arguments.threads or usable_cores(),
            n_vocab=self.facts.n_vocab,
            seed=arguments.seed + _SEED_STEP * repetition,
            budget_bytes=self._budget_bytes(),
            unit_tokens=case.requested_unit,
            is_prefetch_on=not arguments.no_prefetch,
            routing=arguments.routing,
            pool_per_layer=arguments.slots,
            is_pool_fixed=arguments.pool == "fixed",
            hot_per_layer=arguments.hot,
            repack=case.repack,
            devices=device_names(arguments),
            vram_budget_bytes=arguments.vram or None,
        )

    def _stock_task(self, case: BenchCase, ours: ChildReport, repetition: int) -> BenchTask:
        """Stock takes our unit, and decodes less: it may take seconds for each token."""
        arguments = self.arguments
        return replace(
            self._task(case, repetition),
            side="stock",
            unit_tokens=ours.unit_tokens,
            decode_tokens=min(arguments.decode_tokens, arguments.stock_decode_tokens),
            repack=_layout(arguments.compare == "stock-repacked"),
        )

    def _budget_bytes(self) -> int | None:
        ram: int | None = self.arguments.ram
        cap: int | None = self.arguments.cap
        return ram or (int(cap * _BUDGET_SHARE_OF_CAP) if cap else None)


def bench_runs(arguments: argparse.Namespace) -> list[BenchRun]:
    """Every combination of prompt length, unit and layout of weights, in this order."""
    stock: dict[tuple[int, int | None], list[ChildReport]] = {}
    runs = []
    for prompt_tokens in arguments.prompt_tokens:
        for unit in arguments.unit:
            for repack in arguments.repack:
                run = BenchRun(
                    BenchCase(prompt_tokens, unit, str(repack)),
                    stock=stock.setdefault((prompt_tokens, unit), []),
                )
                runs.append(run)
    return runs


def _layout(is_repacked: bool) -> str:
    return str(Repack.ON if is_repacked else Repack.OFF)
