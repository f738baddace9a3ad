"""How long Stop takes in each phase on a real model: load, prefill, decode.

    python -m tests.support.measure_stop MODEL [--ram 2.3GiB] [--times 5] [--repack auto|on|off]

Each figure is from cancel() to the event that ends the request, in milliseconds; the worst of `times`, with
stops spread over the phase. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import ChatMessage, LoadSettings, Repack, SamplingSettings, parse_size_bytes
from engine.events import (
    Event,
    GenerationFinished,
    LoadStarted,
    ModelLoaded,
    PrefillProgress,
    RequestFailed,
    TextDelta,
)
from engine.service import Engine

ENDS = (GenerationFinished, RequestFailed, ModelLoaded)


def wait_for(engine: Engine, is_wanted: Callable[[Event], bool]) -> Event:
    """Drain until an event is wanted."""
    while True:
        engine.wait_for_events(1.0)
        for event in engine.drain():
            if is_wanted(event):
                return event


def stop_ms(engine: Engine, request: int) -> float:
    """Cancel and wait for the end of the request."""
    started = time.perf_counter()
    engine.cancel(request)
    wait_for(engine, lambda e: isinstance(e, ENDS) and e.request_id == request)
    return (time.perf_counter() - started) * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ram", default="2.3GiB")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--repack", type=Repack, default=Repack.AUTO)
    options = parser.parse_args()
    settings = LoadSettings(options.model, parse_size_bytes(options.ram), 4096, repack=options.repack)
    prompt = [ChatMessage("user", "the quick brown fox jumps over the lazy dog " * 70)]
    worst = {"load": 0.0, "prefill": 0.0, "decode": 0.0}
    engine = Engine(LlamaCppBackend)
    try:
        for turn in range(options.times):
            request = engine.load(settings)
            wait_for(engine, lambda e: isinstance(e, LoadStarted))
            time.sleep(0.02 * turn)
            worst["load"] = max(worst["load"], stop_ms(engine, request))
        request = engine.load(settings)
        wait_for(engine, lambda e: isinstance(e, ModelLoaded))
        for turn in range(options.times):
            request = engine.generate(prompt, SamplingSettings(seed=1))
            wait_for(engine, lambda e: isinstance(e, PrefillProgress))
            time.sleep(0.7 * turn)
            worst["prefill"] = max(worst["prefill"], stop_ms(engine, request))
        for turn in range(options.times):
            request = engine.generate([ChatMessage("user", f"{turn}")], SamplingSettings(seed=1))
            wait_for(engine, lambda e: isinstance(e, TextDelta))
            time.sleep(0.1 * turn)
            worst["decode"] = max(worst["decode"], stop_ms(engine, request))
    finally:
        engine.close()
    sys.stdout.write(json.dumps({f"{phase}_worst_ms": round(ms, 1) for phase, ms in worst.items()}) + "\n")


if __name__ == "__main__":
    main()
