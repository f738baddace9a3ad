"""A program that forgets close() still ends, also in the middle of work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
from pathlib import Path
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import LoadStarted, TextDelta
from engine.service import Engine

script = FakeScript(load_seconds={load_seconds}, default_answer="word " * 5000, n_expert=0)
engine = Engine(lambda: FakeBackend(script))
engine.load(LoadSettings(Path("simulated.gguf")))
engine.generate([ChatMessage("user", "Hello")], SamplingSettings())
while not any(isinstance(event, {until}) for event in engine.drain()):
    engine.wait_for_events(1)
print("left")
"""


@pytest.mark.parametrize(("until", "load_seconds"), [("LoadStarted", 600.0), ("TextDelta", 0.0)])
def test_exit_without_close(until: str, load_seconds: float) -> None:
    program = PROGRAM.format(until=until, load_seconds=load_seconds)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, timeout=60, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "left", "")
