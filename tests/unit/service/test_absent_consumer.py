"""Nobody drains: the engine works on, memory stays bounded, nothing of the text is lost."""

from __future__ import annotations

import threading
from pathlib import Path

from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import METRIC_EVENTS, Event, GenerationFinished, TextDelta
from engine.service import Engine
from tests.support.virtual_time import VirtualTime

ANSWER = "word " * 3000


def undrained_run() -> tuple[Engine, list[Event]]:
    """One long answer and the close, and only then a drain."""
    time, unloaded = VirtualTime(), threading.Event()

    class Watched(FakeBackend):
        """Tells when the unload that follows the answer has come; the first one belongs to the load."""

        def unload(self) -> None:
            if self.counters().decode_tokens:
                unloaded.set()
            super().unload()

    script = FakeScript(default_answer=ANSWER)
    engine = Engine(lambda: Watched(script, time.clock, time.sleep), time.clock)
    try:
        engine.load(LoadSettings(Path("simulated.gguf")))
        engine.generate([ChatMessage("user", "Hello")], SamplingSettings())
        engine.unload()
        assert unloaded.wait(60)
    finally:
        engine.close()
    return engine, engine.drain(1_000_000)


def test_answer_is_whole_and_metrics_are_bounded() -> None:
    engine, events = undrained_run()
    deltas = [event for event in events if isinstance(event, TextDelta)]
    finished = next(event for event in events if isinstance(event, GenerationFinished))
    assert "".join(delta.text for delta in deltas) == ANSWER == finished.text
    assert deltas[-1].completion_tokens == 3001  # a last token for the space at the end
    assert len(deltas) < 100
    assert sum(isinstance(event, METRIC_EVENTS) for event in events) <= 256
    assert engine.dropped_metrics > 1000
