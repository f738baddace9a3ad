"""Which experts a run asked for, layer by layer: recorded once, replayed against any policy.

Distinct experts only, no text and no tokens: a trace can be shared without sharing what was said.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.errors import TraceFileError

_VERSION = 1
_STEP_ARRAYS = ("passes", "rows", "is_prefill", "tokens")
_ARRAYS = ("version", "n_expert", "top_k", "moe_layers", *_STEP_ARRAYS, "ends", "experts", "picks")


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One layer of one pass of `n_tokens`: the distinct `experts` it needs, ascending, and their `picks`.

    Both int64 of one length; `picks` counts the tokens that chose each expert.
    """

    pass_number: int
    row: int
    is_prefill: bool
    n_tokens: int
    experts: NDArray[np.int64]
    picks: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RoutingTrace:
    """Steps in the order they happened; `row` counts the layers of `moe_layers`."""

    moe_layers: tuple[int, ...]
    n_expert: int
    top_k: int
    steps: tuple[TraceStep, ...]

    @property
    def n_row(self) -> int:
        return len(self.moe_layers)

    @property
    def requests(self) -> int:
        """Distinct experts per layer and pass, summed: what a cache has to serve."""
        return sum(len(step.experts) for step in self.steps)

    def save(self, path: Path) -> None:
        """Write one compressed file, whole or not at all; raises TraceFileError."""
        part = path.with_name(path.name + ".part")
        try:
            with part.open("wb") as file:
                self._write(file)
            part.replace(path)
        except OSError as error:
            raise TraceFileError(
                f"The trace can't be written to {path} ({error.strerror}).", "Choose another file."
            ) from error

    def _write(self, file: BinaryIO) -> None:
        nothing = np.empty(0, np.int64)
        np.savez_compressed(
            file,
            version=np.array(_VERSION),
            n_expert=np.array(self.n_expert),
            top_k=np.array(self.top_k),
            moe_layers=np.array(self.moe_layers, np.int32),
            rows=np.array([step.row for step in self.steps], np.int32),
            is_prefill=np.array([step.is_prefill for step in self.steps], np.bool_),
            passes=np.array([step.pass_number for step in self.steps], np.int64),
            tokens=np.array([step.n_tokens for step in self.steps], np.int32),
            ends=np.cumsum([len(step.experts) for step in self.steps], dtype=np.int64),
            experts=np.concatenate([nothing, *(step.experts for step in self.steps)]).astype(np.uint16),
            picks=np.concatenate([nothing, *(step.picks for step in self.steps)]).astype(np.uint32),
        )


def load_trace(path: Path) -> RoutingTrace:
    """Read what `RoutingTrace.save` wrote; raises TraceFileError, in words, for anything else."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if not isinstance(stored, np.lib.npyio.NpzFile) or any(name not in stored for name in _ARRAYS):
                raise ValueError("parts are missing")
            if int(stored["version"]) != _VERSION:
                raise ValueError(f"version {int(stored['version'])}, this program reads {_VERSION}")
            return _trace({name: stored[name] for name in _ARRAYS})
    except FileNotFoundError as error:
        raise TraceFileError(f"There is no file {path}.", "Check the name.") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise TraceFileError(
            f"{path} is no routing trace ({error}).", "Record one with “chat --trace FILE”."
        ) from error


def _trace(arrays: dict[str, NDArray[np.int64]]) -> RoutingTrace:
    layers, n_expert = tuple(arrays["moe_layers"].tolist()), int(arrays["n_expert"])
    rows, ends, experts = arrays["rows"], arrays["ends"], arrays["experts"].astype(np.int64)
    picks = arrays["picks"].astype(np.int64)
    is_sound = (
        all(len(arrays[name]) == len(ends) for name in _STEP_ARRAYS)
        and len(picks) == len(experts)
        and (not len(rows) or (rows.min() >= 0 and rows.max() < len(layers)))
        and (not len(experts) or experts.max() < n_expert)
        and bool((np.diff(ends, prepend=0) >= 0).all())
        and len(experts) == (int(ends[-1]) if len(ends) else 0)
    )
    if not is_sound:
        raise ValueError("its tables contradict each other")
    pieces = [np.split(each, ends[:-1]) if len(ends) else [] for each in (experts, picks)]
    columns = zip(*(arrays[name].tolist() for name in _STEP_ARRAYS), *pieces, strict=True)
    return RoutingTrace(layers, n_expert, int(arrays["top_k"]), tuple(TraceStep(*step) for step in columns))


class RoutingRecorder:
    """Collects steps while a model runs; owned by the engine thread. About 100 bytes per layer and pass."""

    def __init__(self, moe_layers: tuple[int, ...], n_expert: int, top_k: int) -> None:
        self._moe_layers, self._n_expert, self._top_k = moe_layers, n_expert, top_k
        self._steps: list[TraceStep] = []

    def add(self, pass_number: int, row: int, is_prefill: bool, picked: NDArray[np.int32]) -> None:
        """One layer was routed; `picked`: expert ids, shape (tokens, top_k)."""
        experts, picks = np.unique(picked, return_counts=True)
        self._steps.append(
            TraceStep(
                pass_number, row, is_prefill, len(picked), experts.astype(np.int64), picks.astype(np.int64)
            )
        )

    def trace(self) -> RoutingTrace:
        """Everything so far."""
        return RoutingTrace(self._moe_layers, self._n_expert, self._top_k, tuple(self._steps))
