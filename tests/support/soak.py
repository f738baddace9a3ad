"""Mixed load on the real engine for hours; looks for memory, threads and descriptors lost, and wrong logits.

    python -m tests.support.soak [--minutes 120] [--seed 1] [--spot-seconds 150]

One user chats, stops at random moments, warms up, counts tokens, opens bad files and reloads small models of
every kind with other settings. Every few minutes a spot check: exact routing gives the tokens and the logits
of stock llama.cpp, bit for bit, whatever happened before. One thread computes, so that it can run beside
other work; run it with `nice -n 19`. Prints a line a minute and at the end a summary as JSON; exits 1 if
private memory after an unload grew by more than 50 MB, or anything else grew or was wrong.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

from engine.service import Engine
from tests.support.gguf_files import wrong_files
from tests.support.soak_models import RecordingBackend, SoakModel, soak_models
from tests.support.soak_requests import StuckError
from tests.support.soak_user import SoakUser
from tests.support.soak_watch import Vitals, broken_limits, change

_BAD_FILE_SHARE = 0.15
_LINE_SECONDS = 60.0


class Soak:
    """One run, in `folder`; everything but the engine's thread happens on the caller's."""

    def __init__(self, folder: Path, seed: int, spot_seconds: float) -> None:
        self._chance = random.Random(seed)
        self._spot_seconds = spot_seconds
        self._backend = RecordingBackend()
        self._engine = Engine(lambda: self._backend)
        self.user = SoakUser(self._engine, self._backend, folder, self._chance)
        (folder / "bad").mkdir()
        self._bad_files = list(wrong_files(folder / "bad").values())
        self._models: list[SoakModel] = soak_models(folder)
        self.looks: list[Vitals] = []

    def prepare(self) -> None:
        """Stock's answers, once per model."""
        for model in self._models:
            self.user.learn_reference(model)

    def run(self, seconds: float) -> None:
        """Sessions until the time is over."""
        started, next_line, next_spot = time.monotonic(), 0.0, 0.0
        while (now := time.monotonic() - started) < seconds:
            known_faults = len(self.user.requests.faults)
            if self._chance.random() < _BAD_FILE_SHARE:
                self.user.open_bad_file(self._chance.choice(self._bad_files))
            if self.user.session(self._chance.choice(self._models), now >= next_spot):
                next_spot = now + self._spot_seconds
            self.looks.append(Vitals.look(time.monotonic() - started))
            for fault in self.user.requests.faults[known_faults:]:
                _print(f"fault after {now:.0f} s: {fault}")
            if now >= next_line:
                next_line += _LINE_SECONDS
                self._print_line(now)

    def close(self) -> None:
        """Free everything; the engine's thread ends."""
        self._engine.close(60)

    def _print_line(self, now: float) -> None:
        last, requests = self.looks[-1], self.user.requests
        _print(
            f"{now / 60:5.1f} min: {len(self.looks)} sessions, private {last.private_bytes / 1e6:.1f} MB, "
            f"{last.threads} threads, {last.descriptors} descriptors, {self.user.acts['chat']} chats, "
            f"{sum(requests.cancels.values())} stops, {self.user.acts['spot check']} spot checks, "
            f"{len(requests.faults)} faults"
        )

    def summary(self, seconds: float) -> dict[str, object]:
        """Everything counted and measured, and what broke."""
        requests = self.user.requests
        figures = {
            name: asdict(change(self.looks, attrgetter(name), seconds))
            for name in ("private_bytes", "threads", "descriptors")
            if self.looks
        }
        return {
            "seconds": seconds,
            "sessions": len(self.looks),
            "acts": dict(self.user.acts),
            "stops_in": dict(requests.cancels),
            "slowest_stop_seconds": round(requests.slowest_stop_seconds, 3),
            "outcomes": dict(requests.errors),
            **figures,
            "faults": [*requests.faults[:20], *broken_limits(self.looks, seconds)],
        }


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run; the exit code is 1 if any limit broke."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spot-seconds", type=float, default=150.0, help="between spot checks (150)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), options.seed, options.spot_seconds)
        try:
            soak.prepare()
            soak.run(options.minutes * 60)
        except StuckError as error:
            soak.user.requests.faults.append(str(error))
            faulthandler.dump_traceback()
            _print(json.dumps(soak.summary(options.minutes * 60), indent=1))
            os._exit(1)  # the engine's thread is stuck and can't be joined
        finally:
            soak.close()
        summary = soak.summary(options.minutes * 60)
    _print(json.dumps(summary, indent=1))
    return 1 if summary["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
